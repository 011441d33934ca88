// Which versions are saved, and the messages about them.
#include "scheduler/rounds/checkpoints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::checkpoints_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

Time at(double seconds) { return Time{} + from_seconds(seconds); }

Progress version(Version version) {
  Progress progress;
  progress.version = version;
  return progress;
}

TEST(Checkpoints, AreDueAfterSomeMinutes) {
  Job job;
  job.checkpoint_minutes = 1;
  Checkpoints checkpoints(job, false);
  checkpoints.begin(at(100));
  EXPECT_FALSE(checkpoints.due(at(159), 1, false).save);
  EXPECT_TRUE(checkpoints.due(at(160), 2, false).save);
  EXPECT_FALSE(checkpoints.due(at(219), 3, false).save) << "the next minute counts from there";
  EXPECT_TRUE(checkpoints.due(at(219), 3, true).save) << "it is scheduled";
}

TEST(Checkpoints, WithoutMinutesOnlyScheduledOnesAreDue) {
  Job job;
  job.checkpoint_minutes = 0;
  Checkpoints checkpoints(job, false);
  EXPECT_FALSE(checkpoints.due(at(1e6), 1, false).save);
  EXPECT_TRUE(checkpoints.due(at(1e6), 1, true).save);
}

TEST(Checkpoints, AreDueOnceOnRequest) {
  Checkpoints checkpoints(Job{}, false);
  EXPECT_FALSE(checkpoints.due(at(1), 1, false).save);
  checkpoints.request();
  EXPECT_TRUE(checkpoints.due(at(2), 2, false).save);
  EXPECT_FALSE(checkpoints.due(at(3), 3, false).save);
  checkpoints.request();
  EXPECT_TRUE(checkpoints.due(at(4), 4, true).save);
  EXPECT_FALSE(checkpoints.due(at(5), 5, false).save) << "one that was due anyway satisfies the request";
}

TEST(Checkpoints, AThirdIsSkippedWhileTwoAreWritten) {
  Checkpoints checkpoints(Job{}, false);
  checkpoints.ask(version(1));
  EXPECT_THAT(checkpoints.due(at(1), 2, true).remark, IsEmpty());
  checkpoints.ask(version(2));
  const Checkpoints::Due third = checkpoints.due(at(2), 3, true);
  EXPECT_FALSE(third.save);
  EXPECT_THAT(third.remark, HasSubstr("the checkpoint of round 3 is skipped: two earlier ones"));
  const Checkpoints::Due fourth = checkpoints.due(at(3), 4, true);
  EXPECT_FALSE(fourth.save);
  EXPECT_THAT(fourth.remark, IsEmpty()) << "once is enough";
  checkpoints.answer({1, true, "path"});
  EXPECT_TRUE(checkpoints.due(at(3), 4, true).save);
}

TEST(Checkpoints, ArePendingUntilAnswered) {
  Checkpoints checkpoints(Job{}, false);
  checkpoints.ask(version(5));
  EXPECT_TRUE(checkpoints.has(5));
  EXPECT_EQ(checkpoints.answer({4, true, "path"}), std::nullopt) << "it was not requested";
  EXPECT_EQ(checkpoints.pending().size(), 1U);
  EXPECT_THAT(*checkpoints.answer({5, true, "path"}), HasSubstr("path"));
  EXPECT_THAT(checkpoints.pending(), IsEmpty());
  EXPECT_TRUE(checkpoints.has(5));
  EXPECT_EQ(checkpoints.answer({5, true, "path"}), std::nullopt) << "answered before";
}

TEST(Checkpoints, TheLatestAnswerDeterminesTrouble) {
  Checkpoints checkpoints(Job{}, false);
  checkpoints.ask(version(1));
  checkpoints.ask(version(2));
  checkpoints.answer({2, true, "path"});
  checkpoints.answer({1, false, "disk full"});
  EXPECT_THAT(checkpoints.trouble(), IsEmpty()) << "a newer one is there";
  checkpoints.ask(version(3));
  checkpoints.answer({3, false, "disk full"});
  EXPECT_EQ(checkpoints.trouble(), "disk full");
  checkpoints.ask(version(4));
  checkpoints.answer({4, true, "path"});
  EXPECT_THAT(checkpoints.trouble(), IsEmpty());
}

TEST(Checkpoints, GivingUpIsTroubleAndDroppingIsNot) {
  Checkpoints checkpoints(Job{}, false);
  checkpoints.give_up("silence");
  EXPECT_THAT(checkpoints.trouble(), IsEmpty()) << "nothing was requested";
  checkpoints.ask(version(1));
  checkpoints.drop();
  EXPECT_THAT(checkpoints.trouble(), IsEmpty());
  checkpoints.ask(version(1));
  checkpoints.give_up("silence");
  EXPECT_EQ(checkpoints.trouble(), "silence");
  EXPECT_THAT(checkpoints.pending(), IsEmpty());
}

TEST(Checkpoints, TheWayBackIsTheBestAvailable) {
  Checkpoints fresh(Job{}, false);
  EXPECT_THAT(fresh.way_back(), HasSubstr("start again"));
  EXPECT_THAT(Checkpoints(Job{}, true).way_back(), HasSubstr("this run began with"));
  fresh.ask(version(3));
  EXPECT_THAT(fresh.way_back(), HasSubstr("was being written"));
  fresh.answer({3, true, "path"});
  EXPECT_THAT(fresh.way_back(), HasSubstr("round 3"));
}

}  // namespace
}  // namespace steelyard::checkpoints_test
