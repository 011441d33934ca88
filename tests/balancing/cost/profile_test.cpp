#include "balancing/cost/curves.h"

#include <gtest/gtest.h>

namespace steelyard::balancing::profile_test {
namespace {

TEST(Profile, LinesWithoutNamesApplyBySlot) {
  const Profile profile({{"", {{1, 1}}}, {"", {{3, 3}}}});
  EXPECT_EQ(profile.of("any name", 0), (Cubic{{1, 1}}));
  EXPECT_EQ(profile.of("", 1), (Cubic{{3, 3}}));
}

TEST(Profile, NamedLinesApplyByName) {
  const Profile profile({{"half", {{1, 1}}}, {"quarter", {{3, 3}}}});
  EXPECT_EQ(profile.of("quarter", 0), (Cubic{{3, 3}}));
  EXPECT_EQ(profile.of("half", 7), (Cubic{{1, 1}}));
}

TEST(Profile, UnknownNamesGetTheMean) {
  const Profile profile({{"half", {{1, 1}}}, {"quarter", {{3, 3}}}});
  EXPECT_EQ(profile.of("eighth", 0), (Cubic{{2, 2}}));
  EXPECT_EQ(profile.of("", 1), (Cubic{{2, 2}}));
  EXPECT_EQ(Profile({{"", {{1, 1}}}}).of("late", 5), (Cubic{{1, 1}}));
  EXPECT_TRUE(Profile().empty());
}

}  // namespace
}  // namespace steelyard::balancing::profile_test
