// The events of a run, in groups.
#include "app/report/run/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/app/report/run/made_run.h"

namespace steelyard::changes_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Changes, AMoveHasItsReason) {
  const Changes changes = changes_of(made_run().record());
  ASSERT_THAT(changes.list, SizeIs(2));
  EXPECT_EQ(changes.list[1].what, "worker 'quarter' continues");
  EXPECT_EQ(changes.list[1].kind, ChangeKind::worker);
  EXPECT_EQ(changes.list[0].kind, ChangeKind::move);
  EXPECT_THAT(changes.list[0].what,
              AllOf(HasSubstr("round 40: half 33.3 % to 57.0 %"), HasSubstr("eighth 33.3 % to 14.3 %")));
  EXPECT_THAT(changes.list[0].why, AllOf(HasSubstr("half 5,000"), HasSubstr("eighth 1,250")));
}

TEST(Changes, WithoutABarrierNoWorkIsMoved) {
  EXPECT_THAT(changes_of(made_run().record(), false).list, SizeIs(1));
}

// An evaluation has more samples than any round of training.
TEST(Changes, MovesAfterAnEvaluationAreListed) {
  MadeRun made;
  made.round({"a", "b"}, {50, 50}, {20, 20});
  made.line({{"round", 1},
             {"purpose", "evaluate"},
             {"at_ms", 99},
             {"round_ms", 9},
             {"workers", {"a"}},
             {"shares", {10000}},
             {"compute_ms", {9}}});
  made.at = 99;
  made.round({"a", "b"}, {90, 10}, {20, 20});
  EXPECT_THAT(changes_of(made.record()).list, SizeIs(1));
}

TEST(Changes, JoiningAndLeavingWorkersMoveWork) {
  MadeRun made;
  made.round({"a", "b"}, {50, 50}, {20, 20}).round({"a"}, {100}, {40}).round({"a", "c"}, {60, 40}, {20, 20});
  const Changes changes = changes_of(made.record());
  ASSERT_THAT(changes.list, SizeIs(2));
  EXPECT_THAT(changes.list[0].what, HasSubstr("b 50.0 % to none"));
  EXPECT_THAT(changes.list[1].what, HasSubstr("c none to 40.0 %"));
}

TEST(Changes, SmallMovesAndShortRoundsAreNotListed) {
  MadeRun made;
  for (std::uint64_t i = 0; i < 4; ++i) made.round({"a", "b"}, {500 + i, 500 - i}, {20, 20});
  made.round({"a", "b"}, {9, 1}, {1, 1});  // the short last round of an epoch
  EXPECT_THAT(changes_of(made.record()).list, IsEmpty());
  // Many small moves in a row are listed as one.
  for (std::uint64_t i = 0; i < 20; ++i) made.round({"a", "b"}, {500 + 5 * i, 500 - 5 * i}, {20, 20});
  EXPECT_THAT(changes_of(made.record()).list, SizeIs(1));
}

TEST(Changes, ListsAreLimited) {
  MadeRun made;
  for (int i = 0; i < 300; ++i) {
    const std::uint64_t more = i % 2 == 0 ? 0 : 100;
    made.round({"a", "b"}, {500 + more, 500 - more}, {20, 20}).note("hello");
  }
  const Changes changes = changes_of(made.record(), true, 30);
  EXPECT_THAT(changes.list, SizeIs(60)) << "30 of each kind";
  EXPECT_EQ(changes.left_out, 299 + 300 - 60U);
}

}  // namespace
}  // namespace steelyard::changes_test
