#include "nn/cuda/optimizer_step.h"

#include <gtest/gtest.h>

#include "core/random.h"
#include "tests/nn/cuda/schedules.h"

namespace steelyard::nn::cuda::optimizer_step_test {
namespace {

using Kind = Optimizer::Kind;
using Floats = std::vector<float>;

Floats random_floats(std::uint64_t size, Random& random) {
  Floats values(size);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  return values;
}

void expect_near(const Floats& actual, const Floats& expected, const char* what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_NEAR(actual[i], expected[i], 1e-6 * (1 + std::abs(expected[i]))) << what << " at " << i;
  }
}

// A slice that lies both on the device and on the host.
class Twins {
 public:
  Twins(const Optimizer& optimizer, std::uint64_t size, Random& random)
      : optimizer_(optimizer),
        w_(random_floats(size, random)),
        state_(size * state_slots(optimizer)),
        on_device_(size),
        sum_(size),
        device_state_(state_.size()),
        factor_(1) {
    upload(w_, on_device_.data());
    stream_.fill_zero(device_state_.data(), sizeof(float) * state_.size());
  }

  void step(const Floats& sum, double scale, double factor, double rate, double decay) {
    upload(sum, sum_.data());
    upload({static_cast<float>(factor)}, factor_.data());
    optimizer_step(stream_, optimizer_,
                   {.size = w_.size(),
                    .parameters = on_device_.data(),
                    .sum = sum_.data(),
                    .state = device_state_.data(),
                    .scale = scale,
                    .steps = steps_,
                    .factor = factor == 1 ? nullptr : factor_.data()},
                   rate, decay);
    Floats next(w_.size());
    nn::step(optimizer_,
             {.out = next, .parameters = w_, .sum = sum, .scale = scale * factor, .steps = steps_++}, state_,
             rate, decay);
    w_ = next;
  }

  void compare() {
    expect_near(download(on_device_.data(), w_.size()), w_, "parameters");
    expect_near(download(device_state_.data(), state_.size()), state_, "state");
  }

 private:
  void upload(const Floats& from, float* to) {
    const PinnedArray<float> pinned(from.size());
    std::copy(from.begin(), from.end(), pinned.data());
    stream_.copy_array(to, pinned.data(), from.size());
    stream_.synchronize();
  }
  Floats download(const float* from, std::uint64_t size) {
    const PinnedArray<float> pinned(size);
    stream_.copy_array(pinned.data(), from, size);
    stream_.synchronize();
    return {pinned.data(), pinned.data() + size};
  }

  Optimizer optimizer_;
  Stream stream_;
  Floats w_, state_;
  DeviceArray<float> on_device_, sum_, device_state_, factor_;
  std::uint64_t steps_ = 0;
};

TEST(CudaOptimizerStep, GivesTheNumbersOfTheCpu) {
  Random random(1);
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::nesterov, Kind::adam, Kind::adamw}) {
    for (const std::uint64_t size : {1U, 4U, 7U, 1000U, 1027U}) {
      for (const double decay : {0.0, 1.0, 2.5}) {
        SCOPED_TRACE(testing::Message() << "kind " << static_cast<int>(kind) << ", size " << size);
        Twins twins({.kind = kind, .weight_decay = 0.1, .epsilon = 1e-3}, size, random);
        for (const double factor : {1.0, 0.25, 1.0}) {
          twins.step(random_floats(size, random), 1.0 / 32, factor, 0.1, decay);
        }
        twins.compare();
      }
    }
  }
}

TEST(CudaOptimizerStep, RefusesRulesThatNeedNorms) {
  Stream stream;
  const DeviceArray<float> numbers(4);
  const DeviceUpdate update{
      .size = 1, .parameters = numbers.data(), .sum = numbers.data() + 1, .state = numbers.data() + 2};
  EXPECT_THROW(optimizer_step(stream, {.kind = Kind::lars}, update, 0.1, 1), Failure);
  EXPECT_THROW(optimizer_step(stream, {.kind = Kind::lamb}, update, 0.1, 1), Failure);
}

}  // namespace
}  // namespace steelyard::nn::cuda::optimizer_step_test
