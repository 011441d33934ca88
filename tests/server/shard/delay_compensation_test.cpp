// DC-ASGD (Zheng et al., ICML 2017): values computed by hand, and its effect on delayed gradients.
#include "server/shard/close_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <deque>

namespace steelyard::delay_compensation_test {
namespace {

constexpr nn::Optimizer sgd{nn::Optimizer::Kind::sgd, 0, 0};
const NodeId worker{Role::worker, 1}, other{Role::worker, 2};

SliceMemory slice_at(float value) {
  SliceMemory slice({0, 1, 0}, {0, 1}, 0);
  EXPECT_TRUE(slice.load(0, 0, 0, Blob::copy_of(std::vector<float>{value})));
  return slice;
}
void move(SliceMemory& slice, float gradient, double rate) {
  slice.gather({0, 1}, 1, Blob::copy_of(std::vector<float>{gradient}));
  slice.step(sgd, rate);
}
Push push(float sum, double weight, std::uint64_t steps) {
  Push push;
  push.weight = weight, push.steps = steps;
  push.values = Blob::copy_of(std::vector<float>{sum});
  return push;
}
float value_of(const Blob& blob) { return blob.floats()[0]; }

// The worker pulls 1, others move the parameter to 3, and its mean gradient is 2 (a sum of 8 over four
// samples): g' = 2 + 0.5 * 2^2 * (3 - 1) = 6, so the compensated sum is 4 * 6.
TEST(DelayCompensation, ConstantLambdaMatchesTheFormula) {
  DelayCompensation dc(parse_sync("dc-asgd:0.5"));
  SliceMemory slice = slice_at(1);
  dc.answered(worker, slice);
  move(slice, -2, 1);
  EXPECT_FLOAT_EQ(value_of(dc.compensated(worker, push(8, 4, 0), slice)), 24);
  EXPECT_EQ(dc.missed(), 0U);
}

// The same with s = 0.05 * 2^2 = 0.2, then 0.95 * 0.2 + 0.05 * 2^2 = 0.39: g' = 2 + 0.5 / sqrt(s + 1e-7) * 8.
TEST(DelayCompensation, AdaptiveLambdaMatchesTheFormula) {
  DelayCompensation dc(parse_sync("dc-asgd:adaptive:0.5"));
  for (const double s : {0.2, 0.39}) {
    SliceMemory slice = slice_at(1);
    dc.answered(worker, slice);
    move(slice, -2, 1);
    EXPECT_NEAR(value_of(dc.compensated(worker, push(8, 4, 0), slice)), 4 * (2 + 4 / std::sqrt(s + 1e-7)),
                1e-4);
  }
}

TEST(DelayCompensation, NothingChangesWithoutLambdaOrDelay) {
  for (const char* sync : {"dc-asgd:0", "dc-asgd:adaptive:0", "dc-asgd:3", "dc-asgd:adaptive:3"}) {
    DelayCompensation dc(parse_sync(sync));
    SliceMemory slice = slice_at(1);
    dc.answered(worker, slice);
    EXPECT_EQ(value_of(dc.compensated(worker, push(0.1F, 3, 0), slice)), 0.1F) << sync;
    if (parse_sync(sync).lambda > 0) continue;
    move(slice, -2, 1);
    EXPECT_EQ(value_of(dc.compensated(worker, push(0.1F, 3, 0), slice)), 0.1F) << sync;
  }
}

TEST(DelayCompensation, PushesOfUnknownVersionsAreCountedAndUnchanged) {
  DelayCompensation dc(parse_sync("dc-asgd:1"));
  SliceMemory slice = slice_at(1);
  dc.answered(worker, slice);
  move(slice, -2, 1);
  EXPECT_EQ(value_of(dc.compensated(other, push(8, 4, 0), slice)), 8) << "this worker never pulled";
  EXPECT_EQ(value_of(dc.compensated(worker, push(8, 4, 1), slice)), 8) << "the worker pulled another version";
  EXPECT_EQ(dc.missed(), 2U);
  EXPECT_NE(value_of(dc.compensated(worker, push(8, 4, 0), slice)), 8);
  dc.forget(worker);
  EXPECT_EQ(value_of(dc.compensated(worker, push(8, 4, 0), slice)), 8);
  EXPECT_EQ(dc.missed(), 3U);
}

// SGD with gradients delayed by `delay` steps on the loss c w^2 / 2. The correction approximates the
// curvature c by lambda * g^2, which is close in the early part of this path.
std::vector<float> path(const std::string& sync, std::size_t delay) {
  constexpr float curvature = 1;
  DelayCompensation dc(parse_sync(sync));
  SliceMemory slice = slice_at(1);
  std::deque<SliceMemory> pulled;
  std::vector<float> values;
  for (int i = 0; i < 12; ++i) {
    pulled.push_back(slice);
    if (pulled.size() > delay + 1) pulled.pop_front();
    const SliceMemory& seen = pulled.front();
    dc.answered(worker, seen);
    const Blob blob =
        dc.compensated(worker, push(curvature * value_of(seen.current()), 1, seen.steps()), slice);
    slice.gather({0, 1}, 1, blob);
    slice.step(sgd, 0.1);
    values.push_back(value_of(slice.current()));
  }
  return values;
}

TEST(DelayCompensation, CompensationApproachesThePathWithoutDelay) {
  const std::vector<float> straight = path("dc-asgd:0", 0);
  const auto distance = [&](const std::string& sync) {
    double sum = 0;
    const std::vector<float> delayed = path(sync, 3);
    for (std::size_t i = 0; i < straight.size(); ++i) sum += std::abs(double{delayed[i]} - straight[i]);
    return sum;
  };
  EXPECT_GT(distance("dc-asgd:0"), 0.1) << "the delay must have an effect";
  EXPECT_LT(distance("dc-asgd:1"), 0.6 * distance("dc-asgd:0"));
  EXPECT_LT(distance("dc-asgd:adaptive:0.5"), 0.6 * distance("dc-asgd:0"));
}

}  // namespace
}  // namespace steelyard::delay_compensation_test
