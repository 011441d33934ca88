#include "nn/cuda/micro_batch_choice.h"

#include <gmock/gmock.h>

#include "nn/cuda_devices.h"

namespace steelyard::nn::cuda::micro_batch_choice_test {
namespace {

using testing::IsEmpty;

// Times of the sizes from `largest` down to 1, at these rates (samples a second), largest first.
std::vector<MicroBatchTime> at_rates(std::uint32_t largest, const std::vector<double>& rates) {
  std::vector<MicroBatchTime> times;
  for (std::uint32_t size = largest; size > 0; size /= 2) {
    const double rate = times.size() < rates.size() ? rates[times.size()] : 1;
    times.push_back({size, size / rate});
  }
  return times;
}

TEST(MicroBatchChoice, DoublesWhileTheRateGrowsEnough) {
  EXPECT_EQ(fast_enough(at_rates(4096, {160, 150, 140, 130, 120})), 4096U);
  EXPECT_EQ(fast_enough(at_rates(4096, {160, 143, 140, 130, 120})), 1024U) << "2048 gains 2 % over 1024";
  EXPECT_EQ(fast_enough(at_rates(4096, {900, 900, 900, 120, 120})), 256U) << "512 gains nothing over 256";
  EXPECT_EQ(fast_enough(at_rates(1024, {130, 120, 110})), 1024U);
}

// A device with little memory has no larger sizes, and 256 samples are not reduced for speed.
TEST(MicroBatchChoice, TakesWhatFits) {
  EXPECT_EQ(fast_enough(at_rates(256, {100, 900})), 256U);
  EXPECT_EQ(fast_enough(at_rates(64, {100, 900})), 64U);
  EXPECT_EQ(fast_enough(at_rates(1, {100})), 1U);
}

TEST(MicroBatchChoice, TheSamplesOfAMicroBatchFitTheHost) {
  const auto of = [](Shape input) { return most_samples(Model(input, 3).linear("a", 3)); };
  EXPECT_EQ(of({28, 28, 1}), 4096U);
  EXPECT_EQ(of({32, 32, 3}), 4096U);
  EXPECT_EQ(of({64, 64, 3}), 2048U);
  EXPECT_EQ(of({224, 224, 3}), 256U) << "154 MB, but never less than this";
}

TEST(MicroBatchChoice, TimesOfTheHostExecutorMeanNothing) {
  if (built_with_cuda()) GTEST_SKIP() << "on a device";
  const ChosenNetwork chosen = choose_network(Model({1, 1, 4}, 3).linear("a", 3), 0);
  EXPECT_EQ(chosen.network->micro_batch_sizes().front(), 256U);
  EXPECT_THAT(chosen.times, IsEmpty());
}

}  // namespace
}  // namespace steelyard::nn::cuda::micro_batch_choice_test
