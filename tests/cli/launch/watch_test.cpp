#include "cli/launch/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace steelyard {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

int exited(int code) { return code << 8; }
Time at(double s) { return Time{from_seconds(s)}; }

class LaunchWatchTest : public testing::Test {
 protected:
  LaunchWatchTest() {
    using Kind = LaunchProcess::Kind;
    plan_.processes = {{"scheduler", "lion", Kind::scheduler, {}, ""},
                       {"server-0", "mouse", Kind::server, {}, ""},
                       {"ada", "mouse", Kind::worker, {}, ""},
                       {"bob", "bear", Kind::worker, {}, ""}};
  }
  void all_ready() {
    for (const char* host : {"lion", "mouse", "bear"}) watch_.host_ready(host);
  }
  static Failure lost() { return {ExitCode::unreachable, "it is lost"}; }

  LaunchPlan plan_;
  LaunchWatch watch_{plan_};
};

TEST_F(LaunchWatchTest, TheSchedulersCodeIsTheJobs) {
  all_ready();
  EXPECT_EQ(watch_.process_ended(at(1), "ada", exited(0), "").code, std::nullopt);
  EXPECT_EQ(watch_.process_ended(at(1), "scheduler", exited(1), "").code, 1);
}

TEST_F(LaunchWatchTest, AKilledSchedulerIsAPeerThatIsGone) {
  all_ready();
  const LaunchSteps steps = watch_.process_ended(at(1), "scheduler", SIGKILL, "");
  EXPECT_EQ(steps.code, 69);
  EXPECT_THAT(steps.says, ElementsAre(AllOf(HasSubstr("on host 'lion'"), HasSubstr("--resume"))));
}

TEST_F(LaunchWatchTest, WhyWeEndedItCountsMoreThanHow) {
  watch_.host_ready("lion");
  watch_.host_lost("bear", {ExitCode::configuration, "no program there"});
  EXPECT_EQ(watch_.process_ended(at(1), "scheduler", SIGKILL, "").code, 78);
}

TEST_F(LaunchWatchTest, AKilledProcessIsStartedAgainThreeTimes) {
  all_ready();
  for (int i = 0; i < 3; ++i) {
    const LaunchSteps steps = watch_.process_ended(at(i), "ada", SIGKILL, "last words");
    EXPECT_THAT(steps.starts, ElementsAre("ada"));
    EXPECT_THAT(steps.says[0], AllOf(HasSubstr("'ada' on host 'mouse'"), HasSubstr("last words")));
    EXPECT_FALSE(steps.end);
  }
  const LaunchSteps steps = watch_.process_ended(at(4), "ada", SIGKILL, "");
  EXPECT_THAT(steps.starts, IsEmpty());
  EXPECT_TRUE(steps.end);
  EXPECT_EQ(watch_.process_ended(at(5), "scheduler", exited(75), "").code, 1) << "it was our decision";
}

TEST_F(LaunchWatchTest, ACodeOfItsOwnEndsTheJobWhenTheSchedulerHasNoOther) {
  all_ready();
  EXPECT_THAT(watch_.process_ended(at(1), "ada", exited(78), "no data").says, IsEmpty());
  EXPECT_FALSE(watch_.wake(at(2)).end) << "the scheduler may have the same to say";
  const LaunchSteps steps = watch_.wake(at(10));
  EXPECT_TRUE(steps.end);
  EXPECT_THAT(steps.says[0], AllOf(HasSubstr("ended with code 78"), HasSubstr("no data")));
  EXPECT_FALSE(watch_.wake(at(20)).end);
  EXPECT_EQ(watch_.process_ended(at(21), "scheduler", exited(75), "").code, 78);
}

TEST_F(LaunchWatchTest, WhoWasToldToLeaveLeavesTheOthersTheWork) {
  all_ready();
  watch_.process_ended(at(1), "ada", exited(75), "");
  const LaunchSteps steps = watch_.wake(at(10));
  EXPECT_FALSE(steps.end);
  EXPECT_EQ(steps.code, std::nullopt);
  EXPECT_THAT(steps.starts, IsEmpty());
}

TEST_F(LaunchWatchTest, CtrlCIsToldToTheScheduler) {
  all_ready();
  EXPECT_TRUE(watch_.interrupted().end);
  EXPECT_FALSE(watch_.interrupted().end) << "once";
  EXPECT_THAT(watch_.process_ended(at(1), "ada", SIGKILL, "").starts, IsEmpty());
  EXPECT_EQ(watch_.process_ended(at(2), "scheduler", exited(75), "").code, 75);
}

TEST_F(LaunchWatchTest, CtrlCBeforeThereIsASchedulerEndsAtOnce) {
  watch_.host_ready("mouse");
  const LaunchSteps steps = watch_.interrupted();
  EXPECT_FALSE(steps.end);
  EXPECT_EQ(steps.code, 75);
}

TEST_F(LaunchWatchTest, AHostThatNeverAnsweredEndsTheJob) {
  watch_.host_ready("lion");
  const LaunchSteps steps = watch_.host_lost("bear", {ExitCode::configuration, "no program there"});
  EXPECT_TRUE(steps.end);
  EXPECT_THAT(steps.says[0], HasSubstr("no program there"));
  EXPECT_EQ(watch_.process_ended(at(1), "scheduler", exited(75), "").code, 78);
}

TEST_F(LaunchWatchTest, TheSchedulersHostThatNeverAnsweredEndsAll) {
  EXPECT_EQ(watch_.host_lost("lion", lost()).code, 69);
}

TEST_F(LaunchWatchTest, TheJobGoesOnWhileAWorkerIsLeft) {
  all_ready();
  LaunchSteps steps = watch_.host_lost("mouse", lost());
  EXPECT_THAT(steps.says, ElementsAre("it is lost"));
  EXPECT_FALSE(steps.end);
  EXPECT_EQ(steps.code, std::nullopt);
  steps = watch_.host_lost("bear", lost());
  EXPECT_TRUE(steps.end) << "nobody computes";
  EXPECT_EQ(watch_.process_ended(at(1), "scheduler", exited(75), "").code, 69);
}

TEST_F(LaunchWatchTest, WithoutTheSchedulersHostNothingGoesOn) {
  all_ready();
  const LaunchSteps steps = watch_.host_lost("lion", lost());
  EXPECT_EQ(steps.code, 69);
  EXPECT_THAT(steps.says, ElementsAre("it is lost"));
}

}  // namespace
}  // namespace steelyard
