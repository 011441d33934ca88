// The worker that held the others up, the time, and the gain of a better split.
#include "app/report/run/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/run/made_run.h"

namespace steelyard::finding_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// Workers: 0 is eighth, 1 half, 2 quarter.
TEST(Finding, TheCulpritIsTheWorkerThatOthersWaitFor) {
  MadeRun made;
  for (int i = 0; i < 20; ++i) made.round({"eighth", "half", "quarter"}, {100, 100, 100}, {80, 20, 40}, 50);
  const Finding it = finding_of(made.record(), {});
  EXPECT_EQ(it.culprit(), 0U);
  EXPECT_EQ(it.workers[0].last, 20U);
  EXPECT_THAT(it.seconds, DoubleNear(20 * 0.085, 1e-9));
  EXPECT_THAT(it.workers[0].held, DoubleNear(20 * 0.050, 1e-9)) << "60 and 40 ms: 50 ms on average";
  EXPECT_THAT(it.workers[1].waiting, DoubleNear(20 * 0.060, 1e-9));
  EXPECT_THAT(it.workers[1].exchanging, DoubleNear(20 * 0.005, 1e-9));
  EXPECT_THAT(it.waiting, DoubleNear(100.0 / 3 / 85, 1e-9));
  EXPECT_THAT(it.exchange, DoubleNear(5.0 / 85, 1e-9));
  EXPECT_THAT(it.ideal_seconds, DoubleNear(it.seconds / 2, 1e-9));
  EXPECT_THAT(it.workers[1].speed(), DoubleNear(5000, 1e-6));
}

TEST(Finding, ABetterSplitIsInProportionToSpeed) {
  MadeRun made;
  for (int i = 0; i < 20; ++i) made.round({"eighth", "half", "quarter"}, {100, 100, 100}, {80, 20, 40});
  const Finding it = finding_of(made.record(), {});
  ASSERT_TRUE(it.better);
  EXPECT_THAT(it.better->now, ElementsAre(100, 100, 100));
  EXPECT_THAT(it.better->better, ElementsAre(42, 172, 86));
  EXPECT_THAT(it.better->seconds_now, DoubleNear(0.085, 1e-6));
  EXPECT_THAT(it.better->seconds_better, DoubleNear(0.0344 + 0.005, 1e-3));
}

TEST(Finding, ABetterSplitRespectsMemoryAndGrains) {
  MadeRun made;
  for (int i = 0; i < 20; ++i) made.round({"a", "b"}, {100, 100}, {10, 80});
  const Finding room = finding_of(made.record(), {.most = {{"a", 120}}});
  ASSERT_TRUE(room.better);
  EXPECT_THAT(room.better->better, ElementsAre(120, 80));
  const Finding grains = finding_of(made.record(), {.grain = 25});
  ASSERT_TRUE(grains.better);
  EXPECT_THAT(grains.better->better, ElementsAre(175, 25));
  EXPECT_FALSE(finding_of(made.record(), {.most = {{"a", 10}, {"b", 10}}}).better)
      << "the limits leave no room";
}

TEST(Finding, AnotherSlowestWorkerStartsANewStretch) {
  MadeRun made;
  for (int i = 0; i < 60; ++i) made.round({"a", "b"}, {50, 50}, {20, 40});
  for (int i = 0; i < 60; ++i) made.round({"a", "b"}, {50, 50}, {20, 20});
  for (int i = 0; i < 60; ++i) made.round({"a", "b"}, {50, 50}, {70, 20});
  const Finding it = finding_of(made.record(), {});
  ASSERT_THAT(it.stretches, SizeIs(2));
  EXPECT_EQ(it.stretches[0].worker, 1U);
  EXPECT_THAT(it.stretches[0].end, DoubleNear(60 * 0.045, 1e-6));
  EXPECT_THAT(it.stretches[0].waiting, DoubleNear(20.0 / 45, 1e-6));
  EXPECT_EQ(it.stretches[1].worker, 0U);
  EXPECT_THAT(it.stretches[1].begin, DoubleNear(60 * 0.070, 1e-6));
  EXPECT_EQ(it.culprit(), 0U) << "the others waited longer for it";
}

// The first rounds of a run are not typical.
TEST(Finding, AFewSlowRoundsAreIgnored) {
  MadeRun made;
  for (int i = 0; i < 4; ++i) made.round({"a", "b"}, {50, 50}, {20, 300});
  for (int i = 0; i < 300; ++i) made.round({"a", "b"}, {50, 51}, {20, 20.4}, 99);
  EXPECT_THAT(finding_of(made.record(), {}).stretches, SizeIs(1));
  EXPECT_FALSE(finding_of(made.record(), {}).better);
}

TEST(Finding, ABalancedRunHasNoCulprit) {
  MadeRun made;
  for (int i = 0; i < 20; ++i) made.round({"a", "b"}, {50, 51}, {20, 20.4}, 99);
  const Finding it = finding_of(made.record(), {});
  EXPECT_FALSE(it.culprit());
  EXPECT_THAT(it.stretches, IsEmpty());
  EXPECT_FALSE(it.better);
}

TEST(Finding, WithoutABarrierNoWorkerWaits) {
  MadeRun made;
  for (int i = 0; i < 20; ++i) made.round({"a", "b"}, {50, 50}, {20, 80});
  const Finding it = finding_of(made.record(), {.barrier = false});
  EXPECT_FALSE(it.culprit());
  EXPECT_EQ(it.waiting, 0);
  EXPECT_FALSE(it.better);
  EXPECT_THAT(it.workers[0].speed(), DoubleNear(2500, 1e-6));
}

TEST(Finding, OneWorkerOrNoneHasNoCulprit) {
  MadeRun made;
  EXPECT_FALSE(finding_of(made.record(), {}).culprit());
  made.round({"a"}, {50}, {20});
  EXPECT_FALSE(finding_of(made.record(), {}).culprit());
}

}  // namespace
}  // namespace steelyard::finding_test
