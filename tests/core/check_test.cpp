#include "core/check.h"

#include <gtest/gtest.h>

namespace steelyard::check_test {
namespace {

TEST(CheckDeathTest, ABrokenInvariantAbortsAndNamesItsPlace) {
  const int two = 2;
  CHECK(two == 2, "a true condition has no effect");
  EXPECT_DEATH(CHECK(two == 3, "two is three"),
               "check_test.cpp:[0-9]+: two == 3 does not hold: two is three");
}

TEST(Check, EvaluatesItsConditionOnce) {
  int times = 0;
  CHECK(++times == 1, "once");
  EXPECT_EQ(times, 1);
}

}  // namespace
}  // namespace steelyard::check_test
