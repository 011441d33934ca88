#include "worker/compute/cpu_speed.h"

#include <gtest/gtest.h>

namespace steelyard::cpu_speed_test {
namespace {

// bench/ measures the speed. This only checks that both figures are measured and plausible.
TEST(CpuSpeed, MeasuresBothFigures) {
  for (const unsigned threads : {1U, 3U}) {
    const nn::DeviceSpeed speed = measure_cpu(threads, 0.001);
    EXPECT_GT(speed.copy_gb_s, 0.001) << threads;
    EXPECT_LT(speed.copy_gb_s, 1e6) << threads;
    EXPECT_GT(speed.float32_gflop_s, 0.001) << threads;
    EXPECT_LT(speed.float32_gflop_s, 1e8) << threads;
  }
}

}  // namespace
}  // namespace steelyard::cpu_speed_test
