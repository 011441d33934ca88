#include "nn/layers/dropout.h"

#include "tests/nn/op_run.h"

namespace steelyard::nn {
namespace {

using testing::Each;

constexpr Shape shape{4, 4, 5};

struct Place {
  std::uint64_t seed = 1, epoch = 2, layer = 3;
};

// What dropout makes of ones, for the samples at these positions: the mask itself.
Floats mask(double probability, const std::vector<std::uint64_t>& positions, Place place = {},
            Order order = Order::samples, bool training = true) {
  const auto size = static_cast<std::uint32_t>(positions.size());
  const MicroBatch batch{
      .positions = positions.data(), .size = size, .count = size, .seed = place.seed, .epoch = place.epoch};
  const Question question{shape, shape, Floats(shape.size() * size, 1), Floats(shape.size() * size, 1), {},
                          {},    false};
  const auto op = make_dropout(shape, probability, place.layer, order);
  const Answer answer = run(*op, order, order, question, {batch, training});
  if (training) {
    EXPECT_EQ(answer.d_inputs, answer.outputs) << "the gradient passes where the number passed";
  }
  return answer.outputs;
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
  // 25 600 draws: the deviation of the share is 0.0027.
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(all), 0.25, 0.0135);
}

TEST(Dropout, IsAFunctionOfSeedEpochPositionLayerAndFeature) {
  const Floats first = mask(0.5, {10});
  EXPECT_EQ(mask(0.5, {10}), first);
  EXPECT_NE(mask(0.5, {11}), first);
  EXPECT_NE(mask(0.5, {10}, {.seed = 9}), first);
  EXPECT_NE(mask(0.5, {10}, {.epoch = 9}), first);
  EXPECT_NE(mask(0.5, {10}, {.layer = 9}), first);
}

TEST(Dropout, DoesNotCareWhichMicroBatchASampleIsIn) {
  const Floats together = mask(0.5, {7, 3, 900, 12});
  Floats alone;
  for (const std::uint64_t position : {7, 3, 900, 12}) {
    const Floats one = mask(0.5, {position});
    alone.insert(alone.end(), one.begin(), one.end());
  }
  EXPECT_EQ(together, alone);
}

TEST(Dropout, IsTheSameInLanesAsInSamples) {
  EXPECT_EQ(mask(0.3, {1, 2}, {}, Order::lanes), mask(0.3, {1, 2}, {}, Order::samples));
}

TEST(Dropout, DoesNothingInEvaluation) { EXPECT_THAT(mask(0.9, {1, 2}, {}, Order::samples, false), Each(1)); }

TEST(Dropout, OfProbabilityZeroKeepsEverything) { EXPECT_THAT(mask(0, {1, 2, 3, 4}), Each(1)); }

}  // namespace
}  // namespace steelyard::nn
