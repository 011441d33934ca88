#include "core/processor.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace steelyard::level_test {
namespace {

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
        const bool v4 = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx2");
        std::exit(!v4 && cpu_level() == Level::v4 ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
  const bool v3_here = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  EXPECT_EXIT(exit_with_level("v3"), ::testing::ExitedWithCode(v3_here ? 1 : 0), "");
}

}  // namespace
}  // namespace steelyard::level_test
