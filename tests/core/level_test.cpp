#include "core/processor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace steelyard::level_test {
namespace {

#if defined(__x86_64__)
bool supports_v3() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
bool supports_v4() { return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2"); }
#else
bool supports_v3() { return false; }
bool supports_v4() { return false; }
#endif

TEST(Level, EveryLevelHasAName) {
  EXPECT_STREQ(name(Level::baseline), "baseline");
  EXPECT_STREQ(name(Level::v3), "v3");
  EXPECT_STREQ(name(Level::v4), "v4");
}

// The level is read once per process, so each case runs in its own process.
TEST(LevelDeathTest, TheVariableLowersButNeverRaisesTheLevel) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto exit_with_level = [](const char* wanted) {
    setenv("STEELYARD_LEVEL", wanted, 1);
    std::exit(static_cast<int>(cpu_level()));
  };
  EXPECT_EXIT(exit_with_level("baseline"), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(
      {
        unsetenv("STEELYARD_LEVEL");
        std::exit(!supports_v4() && cpu_level() == Level::v4 ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(exit_with_level("v3"), ::testing::ExitedWithCode(supports_v3() ? 1 : 0), "");
}

}  // namespace
}  // namespace steelyard::level_test
