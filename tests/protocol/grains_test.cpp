#include "protocol/local_steps.h"

#include <gtest/gtest.h>

namespace steelyard::grains_test {
namespace {

TEST(Grains, APartialGrainCountsAsOne) {
  EXPECT_EQ(grains_in(0, 32), 0U);
  EXPECT_EQ(grains_in(1, 32), 1U);
  EXPECT_EQ(grains_in(64, 32), 2U);
  EXPECT_EQ(grains_in(65, 32), 3U);
  EXPECT_EQ(grains_in(UINT64_MAX, 32), UINT64_MAX / 32 + 1);
}

TEST(Grains, AreCountedFromTheStartOfTheRound) {
  const Interval round{10, 10 + 70};
  EXPECT_EQ(widened_to_grains(round, {10, 11}, 32), (Interval{10, 42}));
  EXPECT_EQ(widened_to_grains(round, {41, 43}, 32), (Interval{10, 74}));
  EXPECT_EQ(widened_to_grains(round, {42, 74}, 32), (Interval{42, 74}));
  EXPECT_EQ(widened_to_grains(round, {75, 76}, 32), (Interval{74, 80})) << "the last grain is shorter";
  EXPECT_EQ(widened_to_grains({0, UINT64_MAX}, {5, UINT64_MAX}, 32), (Interval{0, UINT64_MAX}));
}

TEST(Grains, EndAtMultiplesOrAtTheRoundsEnd) {
  const Interval round{10, 10 + 70};
  EXPECT_TRUE(on_grains(round, {10, 42}, 32));
  EXPECT_TRUE(on_grains(round, {42, 80}, 32));
  EXPECT_FALSE(on_grains(round, {10, 43}, 32));
  EXPECT_FALSE(on_grains(round, {11, 80}, 32));
  EXPECT_FALSE(on_grains(round, {42, 79}, 32));
  EXPECT_TRUE(on_grains(round, {11, 13}, 1));
}

}  // namespace
}  // namespace steelyard::grains_test
