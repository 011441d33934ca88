#include "launch/watch.h"

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
  static LaunchPlan plan() {
    using Kind = LaunchProcess::Kind;
    LaunchPlan plan;
    for (const char* name : {"lion", "mouse", "bear"}) {
      plan.hosts.emplace_back();
      plan.hosts.back().spec.name = name;
    }
    plan.processes = {{"scheduler", "lion", Kind::scheduler, {}, ""},
                      {"server-0", "mouse", Kind::server, {}, ""},
                      {"ada", "mouse", Kind::worker, {}, ""},
                      {"bob", "bear", Kind::worker, {}, ""}};
    return plan;
  }
  void all_ready() {
    for (const char* host : {"lion", "mouse", "bear"}) watch_.host_ready(host);
  }
  static Failure lost() { return {ExitCode::unreachable, "it is lost"}; }

  const LaunchPlan plan_ = plan();
  LaunchWatch watch_{plan_};
};

TEST_F(LaunchWatchTest, NothingIsStartedBeforeAllHostsHaveAnswered) {
  EXPECT_FALSE(watch_.host_ready("lion"));
  EXPECT_FALSE(watch_.host_ready("mouse"));
  EXPECT_FALSE(watch_.host_ready("mouse"));
  EXPECT_TRUE(watch_.host_ready("bear"));
  EXPECT_FALSE(watch_.host_ready("bear")) << "once";
}

TEST_F(LaunchWatchTest, ProcessesAreNamedWithTheirHosts) {
  all_ready();
  Steps steps = watch_.process_ended(at(100), "ada", SIGKILL, "; last words");
  EXPECT_THAT(steps.starts, ElementsAre("ada"));
  EXPECT_THAT(steps.says[0], AllOf(HasSubstr("process 'ada' on host 'mouse'"), HasSubstr("last words")));
  steps = watch_.process_ended(at(101), "scheduler", SIGKILL, "");
  EXPECT_THAT(steps.says, ElementsAre(AllOf(HasSubstr("on host 'lion'"), HasSubstr("--resume"))));
}

TEST_F(LaunchWatchTest, CtrlCIsToldToTheScheduler) {
  all_ready();
  EXPECT_TRUE(watch_.interrupted().end);
  EXPECT_FALSE(watch_.interrupted().end) << "once";
  EXPECT_THAT(watch_.host_lost("bear", lost()).says, IsEmpty()) << "hosts go when the job ends";
  EXPECT_EQ(watch_.process_ended(at(2), "scheduler", exited(75), "").code, 75);
}

TEST_F(LaunchWatchTest, CtrlCBeforeThereIsASchedulerEndsAtOnce) {
  watch_.host_ready("lion");
  watch_.host_ready("mouse");
  EXPECT_EQ(watch_.interrupted().code, 75);
}

TEST_F(LaunchWatchTest, AHostThatNeverAnsweredEndsTheLaunchWithItsCode) {
  watch_.host_ready("lion");
  const Steps steps = watch_.host_lost("bear", {ExitCode::configuration, "no program there"});
  EXPECT_THAT(steps.says[0], HasSubstr("no program there"));
  EXPECT_EQ(steps.code, 78);
}

TEST_F(LaunchWatchTest, TheJobGoesOnWhileAWorkerIsLeft) {
  all_ready();
  Steps steps = watch_.host_lost("mouse", lost());
  EXPECT_THAT(steps.says, ElementsAre("it is lost"));
  EXPECT_TRUE(steps.tell) << "the scheduler ends the job if the training has not begun";
  EXPECT_FALSE(watch_.wake(at(100)).tell);
  watch_.host_lost("bear", lost());
  steps = watch_.wake(at(101));
  EXPECT_TRUE(steps.tell) << "nobody computes";
  EXPECT_THAT(steps.says, ElementsAre(HasSubstr("no worker runs")));
}

TEST_F(LaunchWatchTest, WithoutTheSchedulersHostNothingGoesOn) {
  all_ready();
  const Steps steps = watch_.host_lost("lion", lost());
  EXPECT_EQ(steps.code, 69);
  EXPECT_THAT(steps.says, ElementsAre("it is lost"));
}

}  // namespace
}  // namespace steelyard
