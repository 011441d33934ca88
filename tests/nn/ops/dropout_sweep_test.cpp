#include "nn/cpu/kernel_calls.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace steelyard::nn::dropout_sweep_test {
namespace {

class DropoutLevels : public testing::TestWithParam<Level> {};

TEST_P(DropoutLevels, MatchTheDefinitionInTheHeader) {
  if (GetParam() > cpu_level()) GTEST_SKIP() << "this processor has no " << name(GetParam());
  std::vector<std::uint64_t> keys(32);
  for (std::uint64_t s = 0; s < keys.size(); ++s) keys[s] = hash(s, 12);
  for (const bool in_lanes : {true, false}) {
    const auto& drop = in_lanes ? drop_in_lanes : drop_in_samples;
    for (const std::uint32_t places : {16U, 32U}) {
      for (const std::uint64_t channels : {1, 3, 5, 64, 700}) {
        const std::uint64_t pixels = 7, features = pixels * channels;
        constexpr std::uint32_t dropped = 20000;
        const std::vector<float> from(features * places, 2);
        std::vector<float> to(from.size(), NAN), added(from.size(), 10);
        const DropoutSweep sweep{pixels, channels, places, keys.data(), dropped, 1.5F};
        drop(sweep, from.data(), false, to.data(), GetParam());
        drop(sweep, from.data(), true, added.data(), GetParam());
        for (std::uint64_t f = 0; f < features; ++f) {
          for (std::uint64_t s = 0; s < places; ++s) {
            const std::uint64_t bits = hash(keys[s], f / 4 * 4) >> (f % 4 * 16) & 0xFFFF;
            const std::uint64_t place =
                !in_lanes ? s * features + f : (f % channels * pixels + f / channels) * places + s;
            const float expected = bits < dropped ? 0 : 3;
            ASSERT_EQ(to[place], expected) << "feature " << f << " of sample " << s;
            ASSERT_EQ(added[place], 10 + expected) << "feature " << f << " of sample " << s;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, DropoutLevels, testing::Values(Level::baseline, Level::v3, Level::v4),
                         [](const auto& test) { return name(test.param); });

}  // namespace
}  // namespace steelyard::nn::dropout_sweep_test
