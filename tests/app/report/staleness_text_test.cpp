#include "app/report/run_totals.h"

#include <gtest/gtest.h>

namespace steelyard::staleness_text_test {
namespace {

TEST(StalenessText, ShowsMeanAndQuantiles) {
  const Staleness staleness{4, 3, 2, 1};  // 4 pushes with staleness 0, 3 with staleness 1, ...
  EXPECT_EQ(pushes(staleness), 10U);
  EXPECT_DOUBLE_EQ(mean_of(staleness), (3 * 1 + 2 * 2 + 1 * 3) / 10.0);
  EXPECT_EQ(quantile_of(staleness, 0.4), 0U);
  EXPECT_EQ(quantile_of(staleness, 0.5), 1U);
  EXPECT_EQ(quantile_of(staleness, 0.95), 3U);
  EXPECT_EQ(staleness_text(staleness), "1.0 updates on average, half within 1, 95 % within 3, all within 3");
}

TEST(StalenessText, WithoutPushesTheTextIsEmpty) {
  EXPECT_EQ(staleness_text({}), "");
  EXPECT_EQ(staleness_text(Staleness(staleness_places)), "");
  EXPECT_EQ(mean_of({}), -1);
}

TEST(StalenessText, TheLastBucketReadsOrMore) {
  Staleness staleness(staleness_places);
  staleness.back() = 1;
  EXPECT_EQ(staleness_text(staleness),
            "64.0 updates on average, half within 64 or more, 95 % within 64 or more, all within 64 or more");
}

}  // namespace
}  // namespace steelyard::staleness_text_test
