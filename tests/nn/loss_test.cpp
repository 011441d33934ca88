#include "nn/loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace steelyard::nn {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

struct Result {
  Sums sums;
  std::vector<float> gradient;
};

// Three classes; samples one behind the other.
Result run(Loss loss, const std::vector<float>& scores, const std::vector<std::uint32_t>& labels,
           std::uint32_t count) {
  const auto size = static_cast<std::uint32_t>(scores.size() / 3);
  const MicroBatch batch{.labels = labels.data(), .size = size, .count = count};
  Result result{{}, std::vector<float>(scores.size(), 99)};
  result.sums = evaluate_loss(loss, 3, batch, scores.data(), {3, 1}, result.gradient.data(), size);
  return result;
}

TEST(SoftmaxCrossEntropy, GivesHandComputedNumbers) {
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

TEST(Hinge, GivesHandComputedNumbers) {
  const Result wrong = run(Loss::hinge, {3, 1, 2.5}, {1}, 1);
  EXPECT_DOUBLE_EQ(wrong.sums.loss, 3);
  EXPECT_EQ(wrong.sums.correct, 0U);
  EXPECT_THAT(wrong.gradient, ElementsAre(1, -1, 0));

  const Result close = run(Loss::hinge, {3, 1, 2.5}, {0}, 1);  // right, but by less than 1
  EXPECT_DOUBLE_EQ(close.sums.loss, 0.5);
  EXPECT_EQ(close.sums.correct, 1U);
  EXPECT_THAT(close.gradient, ElementsAre(-1, 0, 1));

  const Result sure = run(Loss::hinge, {3, 1, 1.5}, {0}, 1);
  EXPECT_EQ(sure.sums.loss, 0);
  EXPECT_THAT(sure.gradient, ElementsAre(0, 0, 0));
}

TEST(Losses, SumOverTheRealSamplesOnly) {
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
    const Sums sums = evaluate_loss(loss, 3, batch, lanes.data(), {1, 4}, gradient.data(), 4);
    const Result expected = run(loss, {1, 2, 3, 3, 2, 1}, labels, 2);
    EXPECT_EQ(sums, expected.sums);
    for (std::size_t s = 0; s < 4; ++s) {
      for (std::size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(gradient[c * 4 + s], s < 2 ? expected.gradient[s * 3 + c] : 0);
      }
    }
  }
}

TEST(Losses, HaveTrueGradients) {
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

TEST(Losses, CountTheFirstOfEqualScoresAsTheAnswer) {
  EXPECT_EQ(run(Loss::softmax_cross_entropy, {1, 1, 1}, {0}, 1).sums.correct, 1U);
  EXPECT_EQ(run(Loss::softmax_cross_entropy, {1, 1, 1}, {1}, 1).sums.correct, 0U);
}

}  // namespace
}  // namespace steelyard::nn
