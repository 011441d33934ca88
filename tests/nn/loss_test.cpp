#include "nn/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "core/random.h"

namespace steelyard::nn::loss_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

struct Result {
  Sums sums;
  std::vector<float> gradient;
};

// Samples and labels are stored one after the other.
Result run(const LossOptions& loss, const std::vector<float>& scores,
           const std::vector<std::uint32_t>& labels, std::uint32_t count) {
  const std::uint64_t sample = std::uint64_t{loss.classes} * loss.labels;
  const auto size = static_cast<std::uint32_t>(scores.size() / sample);
  const MicroBatch batch{.labels = labels.data(), .size = size, .count = count};
  Result result{{}, std::vector<float>(scores.size(), 99)};
  result.sums =
      evaluate_loss(loss, batch, scores.data(), {sample, 1, loss.classes}, result.gradient.data(), size);
  return result;
}
// Three classes, one label.
Result run(Loss loss, const std::vector<float>& scores, const std::vector<std::uint32_t>& labels,
           std::uint32_t count) {
  return run(LossOptions{.kind = loss, .classes = 3}, scores, labels, count);
}

TEST(SoftmaxCrossEntropy, MatchesHandComputedNumbers) {
  // Scores log 1, log 2, log 5: shares 1/8, 2/8, 5/8.
  const std::vector<float> scores{0, std::log(2.0F), std::log(5.0F)};
  const Result result = run(Loss::softmax_cross_entropy, scores, {1}, 1);
  EXPECT_NEAR(result.sums.loss, std::log(4.0), 1e-6);
  EXPECT_EQ(result.sums.correct, 0U);
  EXPECT_THAT(result.gradient,
              ElementsAre(FloatNear(0.125F, 1e-6F), FloatNear(-0.75F, 1e-6F), FloatNear(0.625F, 1e-6F)));
  EXPECT_EQ(run(Loss::softmax_cross_entropy, scores, {2}, 1).sums.correct, 1U);
}

TEST(SoftmaxCrossEntropy, DoesNotOverflow) {
  const Result result = run(Loss::softmax_cross_entropy, {1000, 0, -1000}, {1}, 1);
  EXPECT_NEAR(result.sums.loss, 1000, 1e-3);
  EXPECT_THAT(result.gradient, ElementsAre(1, -1, 0));
}

TEST(Hinge, MatchesHandComputedNumbers) {
  const Result wrong = run(Loss::hinge, {3, 1, 2.5}, {1}, 1);
  EXPECT_DOUBLE_EQ(wrong.sums.loss, 3);
  EXPECT_EQ(wrong.sums.correct, 0U);
  EXPECT_THAT(wrong.gradient, ElementsAre(1, -1, 0));

  const Result close = run(Loss::hinge, {3, 1, 2.5}, {0}, 1);  // correct, but by a margin below 1
  EXPECT_DOUBLE_EQ(close.sums.loss, 0.5);
  EXPECT_EQ(close.sums.correct, 1U);
  EXPECT_THAT(close.gradient, ElementsAre(-1, 0, 1));

  const Result sure = run(Loss::hinge, {3, 1, 1.5}, {0}, 1);
  EXPECT_EQ(sure.sums.loss, 0);
  EXPECT_THAT(sure.gradient, ElementsAre(0, 0, 0));
}

TEST(Losses, SumOverRealSamplesOnly) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> scores{1, 2, 3, 3, 2, 1, nan, nan, nan, 9, 9, 9};
  for (const Loss loss : {Loss::softmax_cross_entropy, Loss::hinge}) {
    const Result first = run(loss, {1, 2, 3}, {2}, 1);
    const Result second = run(loss, {3, 2, 1}, {1}, 1);
    const Result both = run(loss, scores, {2, 1, 77, 78}, 2);  // labels of padding are not read
    EXPECT_DOUBLE_EQ(both.sums.loss, first.sums.loss + second.sums.loss);
    EXPECT_EQ(both.sums.correct, 1U);
    EXPECT_EQ(std::vector(both.gradient.begin(), both.gradient.begin() + 3), first.gradient);
    EXPECT_EQ(std::vector(both.gradient.begin() + 3, both.gradient.begin() + 6), second.gradient);
    EXPECT_THAT(std::vector(both.gradient.begin() + 6, both.gradient.end()), testing::Each(0));
  }
}

TEST(Losses, ReadScoresInLanes) {
  const std::vector<std::uint32_t> labels{2, 1};
  const MicroBatch batch{.labels = labels.data(), .size = 2, .count = 2};
  const std::vector<float> lanes{1, 3, 0, 0, 2, 2, 0, 0, 3, 1, 0, 0};  // [class][4 lanes]
  std::vector<float> gradient(lanes.size(), 99);
  for (const Loss loss : {Loss::softmax_cross_entropy, Loss::hinge}) {
    const Sums sums =
        evaluate_loss({.kind = loss, .classes = 3}, batch, lanes.data(), {1, 4}, gradient.data(), 4);
    const Result expected = run(loss, {1, 2, 3, 3, 2, 1}, labels, 2);
    EXPECT_EQ(sums, expected.sums);
    for (std::size_t s = 0; s < 4; ++s) {
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(gradient[c * 4 + s], s < 2 ? expected.gradient[s * 3 + c] : 0);
      }
    }
  }
}

TEST(Losses, GradientsMatchFiniteDifferences) {
  const std::vector<float> scores{0.3F, -1.2F, 0.8F, 2.0F, 0.1F, 0.5F};
  const std::vector<std::uint32_t> labels{1, 2};
  for (const Loss loss : {Loss::softmax_cross_entropy, Loss::hinge}) {
    const Result result = run(loss, scores, labels, 2);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      std::vector<float> above = scores, below = scores;
      above[i] += 0.01F;
      below[i] -= 0.01F;
      const double slope =
          (run(loss, above, labels, 2).sums.loss - run(loss, below, labels, 2).sums.loss) / 0.02;
      EXPECT_NEAR(result.gradient[i], slope, 1e-4) << "score " << i;
    }
  }
}

TEST(SoftmaxCrossEntropy, SupportsLabelSmoothing) {
  const LossOptions options{.classes = 3, .smoothing = 0.3};
  const Result result = run(options, {0, std::log(2.0F), std::log(5.0F)}, {1}, 1);
  // Targets 0.1, 0.8, 0.1; shares 1/8, 2/8, 5/8.
  EXPECT_NEAR(result.sums.loss, 0.1 * std::log(8) + 0.8 * std::log(4) + 0.1 * std::log(1.6), 1e-6);
  EXPECT_THAT(result.gradient,
              ElementsAre(FloatNear(0.025F, 1e-6F), FloatNear(-0.55F, 1e-6F), FloatNear(0.525F, 1e-6F)));
  const Result infinite =
      run(LossOptions{.classes = 3}, {0, 1, -std::numeric_limits<float>::infinity()}, {1}, 1);
  EXPECT_TRUE(std::isfinite(infinite.sums.loss)) << "a class of probability 0 matters only with smoothing";
}

TEST(Losses, AverageOverTheLabelsOfASample) {
  const std::vector<float> scores{1, 2, 3, 3, 1, 0, 0.5F, 0.25F, 2, 9, 9, 9, 8, 8, 8, 7, 7, 7};
  for (const Loss kind : {Loss::softmax_cross_entropy, Loss::hinge}) {
    // The second of the two samples is padding.
    const Result all = run({.kind = kind, .classes = 3, .labels = 3}, scores, {2, 1, 0, 77, 77, 77}, 1);
    Sums sums;
    const std::vector<std::uint32_t> labels{2, 1, 0};
    for (std::size_t l = 0; l < 3; ++l) {
      const Result one = run(kind, {scores[l * 3], scores[l * 3 + 1], scores[l * 3 + 2]}, {labels[l]}, 1);
      sums += one.sums;
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_NEAR(all.gradient[l * 3 + c], one.gradient[c] / 3, 1e-7F);
      }
    }
    EXPECT_NEAR(all.sums.loss, sums.loss / 3, 1e-12);
    EXPECT_EQ(all.sums.correct, 1U);
    EXPECT_THAT(std::vector(all.gradient.begin() + 9, all.gradient.end()), testing::Each(0));
  }
}

TEST(Losses, GradientsAreCorrectForAllScoreLayouts) {
  const LossOptions options{.classes = 37, .labels = 2, .smoothing = 0.1};
  Random random(3);
  std::vector<float> scores(148);
  for (float& score : scores) score = static_cast<float>(6 * random.uniform() - 3);
  const std::vector<std::uint32_t> labels{3, 36, 0, 20};
  const Result result = run(options, scores, labels, 2);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    std::vector<float> above = scores, below = scores;
    above[i] += 0.05F;
    below[i] -= 0.05F;
    const double slope =
        (run(options, above, labels, 2).sums.loss - run(options, below, labels, 2).sums.loss) / 0.1;
    EXPECT_NEAR(result.gradient[i], slope, 1e-4) << "score " << i;
  }
  // The same as [class][label][16 lanes].
  std::vector<float> lanes(37 * 2 * 16, NAN), gradient(lanes.size(), 99);
  const auto place = [](std::size_t s, std::size_t l, std::size_t c) { return (c * 2 + l) * 16 + s; };
  for (std::size_t i = 0; i < scores.size(); ++i) lanes[place(i / 74, i / 37 % 2, i % 37)] = scores[i];
  const MicroBatch batch{.labels = labels.data(), .size = 2, .count = 2};
  EXPECT_EQ(evaluate_loss(options, batch, lanes.data(), {1, 32, 16}, gradient.data(), 16), result.sums);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    EXPECT_EQ(gradient[place(i / 74, i / 37 % 2, i % 37)], result.gradient[i]);
  }
  EXPECT_EQ(gradient[place(2, 1, 5)], 0);
}

TEST(Losses, NanScoresGiveANanLoss) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const Loss kind : {Loss::softmax_cross_entropy, Loss::hinge}) {
    const Result result = run(kind, {1, 2, nan}, {2}, 1);
    EXPECT_TRUE(std::isnan(result.sums.loss));
    EXPECT_EQ(result.sums.correct, 0U);
  }
}

TEST(Losses, TheFirstOfEqualScoresIsThePrediction) {
  EXPECT_EQ(run(Loss::softmax_cross_entropy, {1, 1, 1}, {0}, 1).sums.correct, 1U);
  EXPECT_EQ(run(Loss::softmax_cross_entropy, {1, 1, 1}, {1}, 1).sums.correct, 0U);
}

}  // namespace
}  // namespace steelyard::nn::loss_test
