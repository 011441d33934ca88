#include "nn/target_loss.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/random.h"
#include "nn/loss.h"

namespace steelyard::nn::target_loss_test {
namespace {

using Floats = std::vector<float>;
using testing::Each;
using testing::FloatNear;
using testing::Pointwise;

constexpr float nan = std::numeric_limits<float>::quiet_NaN();
constexpr Loss kinds[] = {Loss::mean_squared_error, Loss::mean_absolute_error, Loss::binary_cross_entropy};

struct Result {
  Sums sums;
  Floats gradient;
};

// Samples one after the other; `lanes`: [output][sample] instead.
Result run(Loss kind, std::uint32_t each, const Floats& outputs, const Floats& targets, std::uint32_t count,
           bool lanes = false) {
  const auto size = static_cast<std::uint32_t>(outputs.size() / each);
  MicroBatch batch{.size = size, .count = count};
  batch.targets = targets.data();
  Result result{{}, Floats(outputs.size(), 99)};
  const Strides strides = lanes ? Strides{1, size, 1} : Strides{each, 1, each};
  result.sums = evaluate_loss({kind, each}, batch, outputs.data(), strides, result.gradient.data(), size);
  return result;
}

Floats random_floats(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Floats values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(static_cast<float>(2 * random.normal()));
  return values;
}
Floats bits(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Floats values;
  for (std::size_t i = 0; i < size; ++i) values.push_back(static_cast<float>(random.below(2)));
  return values;
}

// The same numbers as of PyTorch 1.13: mse_loss, l1_loss and binary_cross_entropy_with_logits of these
// tensors, and the gradients of backward().
TEST(TargetLoss, MatchesThePublishedLosses) {
  const Floats outputs{2, -1, 0.5}, targets{1.5, 1, 0.5};
  const Result squared = run(Loss::mean_squared_error, 3, outputs, targets, 1);
  EXPECT_NEAR(squared.sums.loss, 4.25 / 3, 1e-12);
  EXPECT_THAT(squared.gradient, Pointwise(FloatNear(1e-6F), {1 / 3.0F, -4 / 3.0F, 0.0F}));

  const Result absolute = run(Loss::mean_absolute_error, 3, outputs, targets, 1);
  EXPECT_NEAR(absolute.sums.loss, 2.5 / 3, 1e-12);
  EXPECT_THAT(absolute.gradient, Pointwise(FloatNear(1e-6F), {1 / 3.0F, -1 / 3.0F, 0.0F}));

  // log 2, log(1 + e^2) and log(1 + e^-3); the sigmoids are 1/2, 0.88079708 and 0.04742587.
  const Result binary = run(Loss::binary_cross_entropy, 3, {0, 2, -3}, {1, 0, 0}, 1);
  EXPECT_NEAR(binary.sums.loss, (0.69314718 + 2.12692801 + 0.04858735) / 3, 1e-7);
  EXPECT_THAT(binary.gradient, Pointwise(FloatNear(1e-6F), {-0.16666667F, 0.29359903F, 0.01580862F}));
}

TEST(TargetLoss, BinaryCrossEntropyNeverOverflows) {
  const Result wrong = run(Loss::binary_cross_entropy, 2, {1000, -1000}, {0, 1}, 1);
  EXPECT_NEAR(wrong.sums.loss, 1000, 1e-3);
  EXPECT_THAT(wrong.gradient, testing::ElementsAre(0.5F, -0.5F));
  const Result right = run(Loss::binary_cross_entropy, 2, {1000, -1000}, {1, 0}, 1);
  EXPECT_EQ(right.sums.loss, 0);
  EXPECT_THAT(right.gradient, Each(0));
}

TEST(TargetLoss, GradientsMatchFiniteDifferences) {
  const std::uint32_t each = 4;
  const Floats outputs = random_floats(12, 1), targets = bits(12, 2);
  for (const Loss kind : kinds) {
    const Result result = run(kind, each, outputs, targets, 3);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      Floats above = outputs, below = outputs;
      above[i] += 0.01F, below[i] -= 0.01F;
      const double slope =
          (run(kind, each, above, targets, 3).sums.loss - run(kind, each, below, targets, 3).sums.loss) /
          0.02;
      EXPECT_NEAR(result.gradient[i], slope, 1e-4) << word_of(kind) << ", output " << i;
    }
  }
}

TEST(TargetLoss, SumsOverRealSamplesOnly) {
  const Floats first{1, 2}, second{-3, 0.5}, outputs{1, 2, -3, 0.5, nan, nan}, targets{0, 1, 1, 0, nan, nan};
  for (const Loss kind : kinds) {
    const Result a = run(kind, 2, first, {0, 1}, 1), b = run(kind, 2, second, {1, 0}, 1);
    const Result both = run(kind, 2, outputs, targets, 2);
    EXPECT_DOUBLE_EQ(both.sums.loss, a.sums.loss + b.sums.loss);
    EXPECT_THAT(Floats(both.gradient.begin() + 4, both.gradient.end()), Each(0)) << word_of(kind);
    EXPECT_EQ(Floats(both.gradient.begin() + 2, both.gradient.begin() + 4), b.gradient);
  }
}

TEST(TargetLoss, ReadsOutputsInLanes) {
  const Floats rows = random_floats(12, 3), targets = bits(12, 4);  // 4 samples of 3 outputs
  Floats lanes;
  for (std::size_t o = 0; o < 3; ++o) {
    for (std::size_t s = 0; s < 4; ++s) lanes.push_back(rows[s * 3 + o]);
  }
  for (const Loss kind : kinds) {
    const Result expected = run(kind, 3, rows, targets, 3), result = run(kind, 3, lanes, targets, 3, true);
    EXPECT_EQ(result.sums, expected.sums);
    for (std::size_t s = 0; s < 4; ++s) {
      for (std::size_t o = 0; o < 3; ++o) EXPECT_EQ(result.gradient[o * 4 + s], expected.gradient[s * 3 + o]);
    }
  }
}

// A sample is right if all its answers are. Numbers are neither right nor wrong, in sums of any order.
TEST(TargetLoss, CountsSamplesWithAllAnswersRight) {
  const Floats outputs{1, -1, 1, 1, 0, -1}, targets{1, 0, 1, 0, 0, 0};
  const Sums answers = run(Loss::binary_cross_entropy, 2, outputs, targets, 3).sums;
  EXPECT_EQ(answers.correct, 2U) << "the second has one wrong answer; 0 answers no";
  for (const Loss kind : {Loss::mean_squared_error, Loss::mean_absolute_error}) {
    Sums sums{1, 7};
    sums += run(kind, 2, outputs, targets, 3).sums;
    EXPECT_EQ(sums.correct, Sums::uncounted);
    sums += Sums{1, 7};
    EXPECT_EQ(sums.correct, Sums::uncounted);
  }
}

TEST(TargetLoss, NanOutputsGiveANanLossAndGradient) {
  for (const Loss kind : kinds) {
    const Result result = run(kind, 2, {nan, 1}, {0, 1}, 1);
    EXPECT_TRUE(std::isnan(result.sums.loss)) << word_of(kind);
    EXPECT_TRUE(std::isnan(result.gradient[0])) << word_of(kind);
  }
}

TEST(TargetLossDeathTest, NeedsTargets) {
  const Floats outputs{1};
  const MicroBatch batch{.size = 1, .count = 1};
  EXPECT_DEATH(evaluate_loss({Loss::mean_squared_error, 1}, batch, outputs.data(), {1, 1, 1}, nullptr, 1),
               "needs them");
}

TEST(LossWords, NameEveryLoss) {
  for (const std::string& word : loss_words()) EXPECT_EQ(word_of(loss_named(word).value()), word);
  EXPECT_EQ(loss_named("mse"), Loss::mean_squared_error);
  EXPECT_EQ(loss_named("huber"), std::nullopt);
}

}  // namespace
}  // namespace steelyard::nn::target_loss_test
