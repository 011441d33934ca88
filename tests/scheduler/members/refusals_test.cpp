#include "scheduler/members/admission.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::refusals_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Optional;

constexpr NodeId ann{Role::worker, 1}, bob{Role::worker, 2};
const Refuse no_name{Refusal::name, "its name is invalid"}, full{Refusal::full, "the job is full"};

Time at(double s) { return Time{from_seconds(s)}; }

TEST(Refusals, EachNodeAndReasonIsNotedOnce) {
  Refusals refusals;
  EXPECT_THAT(refusals.refused(at(1), ann, no_name), Optional(HasSubstr("refused worker-1: its name")));
  EXPECT_FALSE(refusals.refused(at(1), ann, no_name));
  EXPECT_TRUE(refusals.refused(at(2), ann, full));
  EXPECT_TRUE(refusals.refused(at(2), bob, no_name));
  EXPECT_FALSE(refusals.refused(at(3), bob, no_name));
}

TEST(Refusals, RepeatedRefusalsAreCountedOnceAMinute) {
  Refusals refusals;
  for (int i = 0; i < 1000; ++i) (void)refusals.refused(at(1), ann, no_name);
  EXPECT_FALSE(refusals.due(at(60)));
  EXPECT_THAT(refusals.due(at(61)),
              Optional(HasSubstr("refused 999 more times within a minute, last worker-1")));
  EXPECT_FALSE(refusals.due(at(62)));
  EXPECT_FALSE(refusals.refused(at(100), ann, no_name)) << "it keeps asking";
  EXPECT_THAT(refusals.due(at(121)), Optional(HasSubstr("refused 1 more")));
}

TEST(Refusals, ANodeThatWasQuietForAMinuteIsNotedAgain) {
  Refusals refusals;
  EXPECT_TRUE(refusals.refused(at(1), ann, no_name));
  EXPECT_FALSE(refusals.due(at(61))) << "nothing to count";
  EXPECT_TRUE(refusals.refused(at(100), ann, no_name));
}

TEST(Refusals, ManyNewNodesMakeFewNotes) {
  Refusals refusals;
  std::size_t notes = 0;
  for (std::uint64_t i = 0; i < 100'000; ++i)
    notes += refusals.refused(at(1), {Role::worker, i}, no_name) ? 1 : 0;
  EXPECT_EQ(notes, Refusals::most_noted);
  EXPECT_TRUE(refusals.due(at(61)));
  EXPECT_TRUE(refusals.refused(at(62), {Role::worker, 7}, no_name)) << "there is room again";
}

}  // namespace
}  // namespace steelyard::refusals_test
