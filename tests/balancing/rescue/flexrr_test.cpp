// FlexRR's rule computed by hand: the formula of Harlap et al. (SoCC 2016) with a checkpoint at 75 %. Workers
// more than 20 % behind get help, unless at most 5 % of their work is left.
#include "balancing/rescue/flexrr.h"

#include <gtest/gtest.h>

namespace steelyard::balancing::flexrr_test {
namespace {

Standing helper(std::uint32_t slot, double done, double since = 0) {
  return {slot, done, since, 1, done == 1, true, false};
}
Standing helpee(std::uint32_t slot, double done, double since = 0) {
  return {slot, done, since, 1, false, false, true};
}

double work(const Standing& one, const Standing& other) {
  const auto found = FlexRR::next({one, other});
  return found ? found->work : 0;
}

// Half of the lead or half of the remaining work, whichever is less.
TEST(FlexRR, WorkMatchesTheFormula) {
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.75), helper(1, 1)), 0.125) << "both halves are equal";
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.2), helper(1, 1)), 0.4);
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.5), helper(1, 1, 0.1)), 0.25) << "the lead is 0.6, but only 0.5 is left";
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.78), helper(1, 0.95)), 0) << "0.17 behind";
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.80), helper(1, 1)), 0) << "0.20 is not more than 0.20";
  EXPECT_NEAR(work(helpee(0, 0.94), helper(1, 1, 10)), 0.03, 1e-12)
      << "waiting counts: the lead is 0.31, 0.06 is left";
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.96), helper(1, 1, 10)), 0) << "0.04 is not worth it";
}

// Progress of the helper since its last report counts, up to the part beyond its checkpoint.
TEST(FlexRR, CountsTheHelpersProgressSinceItsReport) {
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.85), helper(1, 1, 0.04)), 0) << "0.19";
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.85), helper(1, 1, 0.06)), 0.075) << "0.21";
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.92), helper(1, 1, 0.5)), 0.04) << "at most 0.25 counts: 0.33";
  Standing slow = helpee(0, 0.85);
  slow.usual = 2;
  EXPECT_DOUBLE_EQ(work(slow, helper(1, 1, 0.06)), 0) << "measured in the helpee's rounds: 0.18";
  slow.usual = 0;
  EXPECT_DOUBLE_EQ(work(slow, helper(1, 1, 100)), 0) << "the duration is unknown in the first round: 0.15";
}

// The helpee's progress counts too, but for less than an eighth: then it would have reported again.
TEST(FlexRR, CountsTheHelpeesProgressUpToAnEighth) {
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.5, 0.1), helper(1, 1)), 0.2);
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.5, 9), helper(1, 1)), 0.1875) << "no more than an eighth";
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.75, 9), helper(1, 1)), 0) << "it counts as seven eighths done";
}

TEST(FlexRR, HelpersTakeSmallPiecesUntilTheyFinish) {
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.1), helper(1, 0.74)), 0);
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.1), helper(1, 0.75)), 0.05);
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.1), helper(1, 0.99)), 0.05);
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.1), helper(1, 1)), 0.45);
  Standing begun = helper(1, 0.8);
  begun.free = true;
  EXPECT_DOUBLE_EQ(work(helpee(0, 0.1), begun), 0.35)
      << "a fifth of its work, taken over from others, is left";
}

TEST(FlexRR, TheFastestHelpsTheSlowest) {
  const auto found =
      FlexRR::next({helper(0, 0.8), helpee(1, 0.3), helper(2, 1), helpee(3, 0.2), helper(4, 1)});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->helpee, 3U);
  EXPECT_EQ(found->helper, 2U) << "the first of two workers that are done";
  EXPECT_DOUBLE_EQ(found->work, 0.4);
  Standing both = helper(0, 0.9);
  both.may_be_cut = true;
  EXPECT_FALSE(FlexRR::next({both})) << "a worker cannot help itself";
  EXPECT_FALSE(FlexRR::next({}));
}

}  // namespace
}  // namespace steelyard::balancing::flexrr_test
