#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::dropout_test {
namespace {

using testing::Each;

constexpr Shape shape{4, 4, 5};

struct Place {
  std::uint64_t seed = 1, epoch = 2, key = 3;
};

Question ones(double probability, std::uint32_t size, std::uint64_t key) {
  Random random(1);
  Question q = random_question(Dropout(probability), {shape}, size, size, false, random);
  q.place.key = key;
  std::fill(q.inputs[0].begin(), q.inputs[0].end(), 1.0F);
  std::fill(q.d_output.begin(), q.d_output.end(), 1.0F);
  return q;
}

// Returns the output of dropout for inputs of ones at these positions, which is the mask.
Floats mask(double probability, const std::vector<std::uint64_t>& positions, Place place = {},
            Order order = Order::samples, bool training = true) {
  const auto size = static_cast<std::uint32_t>(positions.size());
  const MicroBatch batch{
      .positions = positions.data(), .size = size, .count = size, .seed = place.seed, .epoch = place.epoch};
  const Question q = ones(probability, size, place.key);
  const Answer answer = run(*cpu_op(q, order), q, {batch, training}, order, order);
  if (training) {
    EXPECT_EQ(answer.d_inputs[0], answer.output) << "gradients must have the mask of the outputs";
  }
  return answer.output;
}

TEST(Dropout, DropsTheRightShareAndScalesTheRest) {
  std::uint64_t dropped = 0, all = 0;
  for (std::uint64_t first = 0; first < 320; first += 4) {
    for (const float value : mask(0.25, {first, first + 1, first + 2, first + 3})) {
      EXPECT_TRUE(value == 0 || value == 1 / 0.75F);
      dropped += value == 0 ? 1 : 0;
      ++all;
    }
  }
  // 25 600 draws: the standard deviation of the share is 0.0027.
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(all), 0.25, 0.0135);
}

TEST(Dropout, IsAFunctionOfSeedEpochPositionPlaceAndFeature) {
  const Floats first = mask(0.5, {10});
  EXPECT_EQ(mask(0.5, {10}), first);
  EXPECT_NE(mask(0.5, {11}), first);
  EXPECT_NE(mask(0.5, {10}, {.seed = 9}), first);
  EXPECT_NE(mask(0.5, {10}, {.epoch = 9}), first);
  EXPECT_NE(mask(0.5, {10}, {.key = 9}), first);
}

TEST(Dropout, IsIndependentOfTheMicroBatch) {
  const Floats together = mask(0.5, {7, 3, 900, 12});
  Floats alone;
  for (const std::uint64_t position : {7, 3, 900, 12}) {
    const Floats one = mask(0.5, {position});
    alone.insert(alone.end(), one.begin(), one.end());
  }
  EXPECT_EQ(together, alone);
}

TEST(Dropout, IsIdenticalInLanesAndSamples) {
  EXPECT_EQ(mask(0.3, {1, 2}, {}, Order::lanes), mask(0.3, {1, 2}, {}, Order::samples));
}

TEST(Dropout, DoesNothingInEvaluation) {
  EXPECT_THAT(mask(0.9, {1, 2}, {}, Order::samples, false), Each(1));
  EXPECT_THAT(mask(0.9, {1, 2}, {}, Order::lanes, false), Each(1));
}

TEST(Dropout, ProbabilityZeroKeepsEverything) { EXPECT_THAT(mask(0, {1, 2, 3, 4}), Each(1)); }

TEST(Dropout, TheCpuMatchesTheReference) {
  Random random(2);
  const std::vector<std::uint64_t> positions{5, 800, 3, 12};
  const MicroBatch batch{.positions = positions.data(), .size = 4, .count = 3, .seed = 7, .epoch = 3};
  const Pass pass{batch, true};
  for (const Shape one : {Shape{1, 1, 1}, Shape{5, 3, 7}, Shape{1, 9, 600}}) {
    Question q = random_question(Dropout(0.4), {one}, 4, 3, false, random);
    q.place.key = 11;
    const Answer expected = run(*reference_op(q), q, pass);
    expect_same(run(*cpu_op(q), q, pass), expected, q, pass, 1e-6F);
    expect_all_buffers(*cpu_op(q), q, pass, expected, 1e-6F);
    expect_same(run(*cpu_op(q, Order::lanes), q, pass, Order::lanes, Order::lanes), expected, q, pass, 1e-6F);
  }
}

TEST(Dropout, ReferenceGradientsMatchFiniteDifferences) {
  Random random(3);
  const std::vector<std::uint64_t> positions{5, 800};
  const MicroBatch batch{.positions = positions.data(), .size = 2, .count = 2};
  const Question q = random_question(Dropout(0.4), {{2, 3, 3}}, 2, 2, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

}  // namespace
}  // namespace steelyard::nn::dropout_test
