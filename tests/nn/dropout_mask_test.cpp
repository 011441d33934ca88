#include "nn/cpu/dropout_mask.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/random.h"

namespace steelyard::nn {
namespace {

class DropoutMaskLevels : public testing::TestWithParam<Level> {};

TEST_P(DropoutMaskLevels, DrawsWhatTheHeaderSays) {
  if (GetParam() > cpu_level()) GTEST_SKIP() << "this processor has no " << name(GetParam());
  std::vector<std::uint64_t> keys(32);
  for (std::uint64_t s = 0; s < keys.size(); ++s) keys[s] = hash(s, 12);
  for (const std::uint32_t lanes : {16U, 32U}) {
    for (const std::uint64_t channels : {1, 3, 5, 64}) {
      constexpr std::uint64_t pixels = 7;
      constexpr std::uint32_t dropped = 20000;
      std::vector<float> mask(pixels * channels * lanes, NAN);
      draw({pixels, channels, lanes, keys.data(), dropped, 1.5F, mask.data()}, GetParam());
      for (std::uint64_t f = 0; f < pixels * channels; ++f) {
        for (std::uint64_t s = 0; s < lanes; ++s) {
          const std::uint64_t bits = hash(keys[s], f / 4 * 4) >> (f % 4 * 16) & 0xFFFF;
          const std::uint64_t place = (f % channels * pixels + f / channels) * lanes + s;
          ASSERT_EQ(mask[place], bits < dropped ? 0 : 1.5F) << "feature " << f << " of sample " << s;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, DropoutMaskLevels, testing::Values(Level::baseline, Level::v3, Level::v4),
                         [](const auto& test) { return name(test.param); });

}  // namespace
}  // namespace steelyard::nn
