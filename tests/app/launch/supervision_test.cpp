#include "app/launch/supervision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <optional>

namespace steelyard::supervision_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

int exited(int code) { return code << 8; }
Time at(double s) { return Time{from_seconds(s)}; }

class SupervisionTest : public testing::Test {
 protected:
  SupervisionTest() { it_.host_ready("here"); }

  Steps ended(double when, const std::string& name, int status, const std::string& words = "") {
    return it_.ended(at(when), name, status, words);
  }
  // All steps until then.
  Steps until(double when) {
    Steps all;
    for (; now_ <= when; now_ += 0.1) all.add(it_.wake(at(now_)));
    return all;
  }

  static LaunchPlan plan() {
    LaunchPlan plan;
    plan.here = true;
    plan.hosts.emplace_back();
    plan.hosts.back().spec.name = "here";
    plan.processes = {{"scheduler", "here", Role::scheduler, {}, ""},
                      {"server-0", "here", Role::shard, {}, ""},
                      {"ada", "here", Role::worker, {}, ""},
                      {"bob", "here", Role::worker, {}, ""}};
    return plan;
  }

  double now_ = 100;
  const LaunchPlan plan_ = plan();
  Supervision it_{plan_, [] { return "--run-dir x --resume"; }};
};

class SupervisionOfScripts : public testing::Test {
 protected:
  SupervisionOfScripts() {
    plan_.here = true;
    plan_.hosts.emplace_back();
    plan_.hosts.back().spec.name = "here";
    plan_.processes = {{"scheduler", "here", Role::scheduler, {}, ""},
                       {"server-0", "here", Role::shard, {}, ""},
                       {"ada", "here", Role::worker, {}, "", "python3"},
                       {"bob", "here", Role::worker, {}, "", "python3"}};
  }

  LaunchPlan plan_;
};

TEST_F(SupervisionOfScripts, AScriptThatExitsEarlyIsLost) {
  Supervision it(plan_, {});
  it.host_ready("here");
  it.ended(at(100), "ada", exited(0), "");
  const Steps steps = it.wake(at(103));
  EXPECT_THAT(steps.says, ElementsAre("process 'ada' exited with code 0"));
  EXPECT_TRUE(steps.tell);
  it.ended(at(104), "bob", exited(0), "");
  EXPECT_TRUE(it.wake(at(107)).tell);
  EXPECT_TRUE(it.wake(at(109)).tell) << "no worker is left";
}

TEST_F(SupervisionOfScripts, ScriptsMayExitOnceAServerHasExited) {
  Supervision it(plan_, {});
  it.host_ready("here");
  for (const char* name : {"ada", "server-0", "bob"}) it.ended(at(100), name, exited(0), "");
  const Steps steps = it.wake(at(103));
  EXPECT_THAT(steps.says, IsEmpty());
  EXPECT_FALSE(steps.tell);
}

TEST_F(SupervisionOfScripts, TheFirstFailureIsReportedAtTheEndOfTheJob) {
  Supervision it(plan_, {});
  it.host_ready("here");
  it.ended(at(100), "bob", exited(0), "");
  EXPECT_THAT(it.ended(at(100), "ada", exited(1), "; Traceback").says, IsEmpty());
  const Steps steps = it.ended(at(101), "scheduler", exited(1), "");
  EXPECT_THAT(steps.says, ElementsAre("process 'ada' exited with code 1; Traceback"));
  EXPECT_EQ(steps.code, 1);
}

TEST_F(SupervisionOfScripts, AFailedScriptFailsACompletedJob) {
  Supervision it(plan_, {});
  it.host_ready("here");
  it.ended(at(100), "ada", exited(5), "");
  EXPECT_EQ(it.ended(at(100), "scheduler", exited(0), "").code, 1);
}

// Code 75 means stopped on request, and there was no request.
TEST_F(SupervisionOfScripts, AJobWithoutAModelFails) {
  Supervision it(plan_, {});
  it.host_ready("here");
  it.ended(at(100), "ada", exited(3), "");
  EXPECT_TRUE(it.wake(at(103)).tell);
  EXPECT_EQ(it.ended(at(104), "scheduler", exited(75), "").code, 1);
  Supervision asked(plan_, {});
  asked.host_ready("here");
  asked.ended(at(100), "ada", exited(3), "");
  asked.wake(at(103));
  asked.interrupted();
  EXPECT_EQ(asked.ended(at(104), "scheduler", exited(75), "").code, 75);
}

TEST_F(SupervisionOfScripts, WorkersOutsideThePlanAreNotSupervised) {
  plan_.processes.resize(2);
  Supervision it(plan_, {});
  it.host_ready("here");
  const Steps steps = it.wake(at(200));
  EXPECT_THAT(steps.says, IsEmpty());
  EXPECT_FALSE(steps.tell);
}

TEST(Starts, ThreeAreFreeThenOneEveryFiveSeconds) {
  Starts starts;
  for (int i = 0; i < 3; ++i) {
    EXPECT_LE(starts.next(), at(100));
    starts.take(at(100));
  }
  EXPECT_EQ(starts.next(), at(105));
  starts.take(at(105));
  EXPECT_EQ(starts.next(), at(110));
  for (int i = 0; i < 3; ++i) starts.take(at(1000));
  EXPECT_EQ(starts.next(), at(1005)) << "at most three accumulate";
}

TEST_F(SupervisionTest, TheSchedulersExitCodeIsTheJobs) {
  EXPECT_EQ(ended(100, "ada", exited(0)).code, std::nullopt);
  EXPECT_EQ(ended(101, "scheduler", exited(74)).code, 74);
}

// A blocked terminal may delay the scheduler's exit, but no other.
TEST_F(SupervisionTest, FinishedProcessesAreNotReported) {
  for (const char* name : {"ada", "bob", "server-0"})
    EXPECT_THAT(ended(100, name, exited(0)).says, IsEmpty());
  const Steps steps = until(200);
  EXPECT_THAT(steps.says, IsEmpty());
  EXPECT_FALSE(steps.tell);
  EXPECT_EQ(ended(200, "scheduler", exited(0)).code, 0);
}

TEST_F(SupervisionTest, AKilledSchedulerIsRestarted) {
  const Steps steps = ended(100, "scheduler", SIGKILL);
  EXPECT_EQ(steps.code, std::nullopt);
  EXPECT_THAT(steps.starts, ElementsAre("scheduler"));
  EXPECT_THAT(steps.says, ElementsAre("the scheduler was killed by signal 9 (Killed)", HasSubstr("again")));
  EXPECT_EQ(ended(101, "scheduler", exited(0)).code, 0) << "its exit still ends the job";
}

TEST_F(SupervisionTest, ARestartedSchedulerIsNotifiedOfLosses) {
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(ended(100, "scheduler", SIGKILL).tell);
  EXPECT_THAT(ended(100, "scheduler", SIGKILL).starts, IsEmpty()) << "only some seconds later";
  ended(100, "bob", exited(78));
  EXPECT_TRUE(until(103).tell) << "no scheduler is running";
  const Steps steps = until(106);
  EXPECT_THAT(steps.starts, ElementsAre("scheduler"));
  EXPECT_TRUE(steps.tell);
}

TEST_F(SupervisionTest, ARepeatedlyKilledSchedulerEndsTheJob) {
  Steps steps;
  for (int i = 0; i < 12 && !steps.code; ++i) {
    steps = ended(now_, "scheduler", SIGKILL);
    EXPECT_EQ(steps.code.has_value(), i == 11);
    for (Steps more = steps; !steps.code && more.starts.empty();) more = until(now_ + 0.5);
  }
  EXPECT_EQ(steps.code, 69);
  EXPECT_THAT(steps.says, ElementsAre(AllOf(HasSubstr("was killed"), HasSubstr("--run-dir x --resume"))));
}

TEST_F(SupervisionTest, ProcessesThatLiveForAWhileAreAlwaysRestarted) {
  for (int i = 0; i < 40; ++i) {
    EXPECT_FALSE(ended(now_, "scheduler", SIGKILL).code.has_value());
    EXPECT_FALSE(ended(now_, "ada", SIGKILL).tell);
    until(now_ + 17);
  }
}

// It is at work soon after its start, and its progress is kept.
TEST_F(SupervisionTest, ASchedulerThatLivesSomeSecondsIsAlwaysRestarted) {
  for (int i = 0; i < 40; ++i) {
    Steps steps = ended(now_, "scheduler", SIGKILL);
    ASSERT_EQ(steps.code, std::nullopt);
    while (steps.starts.empty()) steps = until(now_ + 0.5);
    until(now_ + 4);
  }
}

TEST_F(SupervisionTest, AfterAStopRequestAKilledSchedulerEndsTheJob) {
  it_.interrupted();
  EXPECT_EQ(ended(100, "scheduler", SIGKILL).code, 69);
}

// No scheduler is running that could stop the job.
TEST_F(SupervisionTest, AStopRequestBeforeASchedulerRestartEndsAtOnce) {
  for (int i = 0; i < 4; ++i) ended(100, "scheduler", SIGKILL);
  EXPECT_EQ(it_.interrupted().code, 75);
}

TEST_F(SupervisionTest, KilledProcessesAreRestartedAtOnceWithinTheirBudget) {
  for (int i = 0; i < 3; ++i) {
    const Steps steps = ended(100, "bob", SIGKILL, "; last words");
    EXPECT_THAT(steps.starts, ElementsAre("bob"));
    EXPECT_THAT(steps.says.at(0), AllOf(HasSubstr("process 'bob' was killed"), HasSubstr("last words")));
  }
  const Steps steps = ended(100, "bob", SIGKILL);
  EXPECT_THAT(steps.starts, IsEmpty());
  EXPECT_THAT(steps.says.at(1), HasSubstr("starting 'bob' again in 5 s"));
  EXPECT_FALSE(steps.tell || steps.end) << "the others continue";
  EXPECT_THAT(ended(100, "ada", SIGKILL).starts, ElementsAre("ada")) << "each has its own budget";
  EXPECT_THAT(until(104.8).starts, IsEmpty());
  EXPECT_THAT(until(105.2).starts, ElementsAre("bob"));
}

TEST_F(SupervisionTest, TenKillsInAMinuteDoNotEndTheJob) {
  for (int kill = 0; kill < 10; ++kill) {
    Steps steps = ended(now_, "bob", SIGKILL);
    steps.add(until(now_ + 6));
    EXPECT_THAT(steps.starts, ElementsAre("bob")) << kill;
    EXPECT_FALSE(steps.tell || steps.end || steps.code) << kill;
  }
}

TEST_F(SupervisionTest, ProcessesThatLostTheSchedulerAreRestarted) {
  EXPECT_THAT(ended(100, "bob", exited(69)).says, IsEmpty()) << "the scheduler may be about to exit";
  EXPECT_THAT(until(103).starts, ElementsAre("bob"));
  EXPECT_THAT(ended(160, "server-0", exited(69)).starts, IsEmpty());
  EXPECT_EQ(ended(161, "scheduler", exited(69)).code, 69);
}

TEST_F(SupervisionTest, ProcessesThatExitWithAnErrorAreNotRestarted) {
  EXPECT_THAT(ended(100, "bob", exited(78), ": no data").says, IsEmpty())
      << "the scheduler may report the same";
  const Steps steps = until(110);
  EXPECT_THAT(steps.says, ElementsAre(AllOf(HasSubstr("exited with code 78"), HasSubstr("no data"))));
  EXPECT_THAT(steps.starts, IsEmpty());
  EXPECT_TRUE(steps.tell) << "it ends the job if the training has not begun";
  EXPECT_FALSE(steps.end || steps.code) << "that is the scheduler's decision";
  EXPECT_FALSE(until(200).tell) << "once";
}

TEST_F(SupervisionTest, WithoutWorkersTheSchedulerIsNotifiedUntilItExits) {
  ended(100, "ada", exited(78));
  ended(100, "bob", exited(75));
  const Steps steps = until(110);
  EXPECT_THAT(steps.says.back(), HasSubstr("no worker runs"));
  EXPECT_TRUE(until(112).tell) << "it may have missed the last exit";
  EXPECT_EQ(ended(113, "scheduler", exited(1)).code, 1);
}

// Notified of the first alone, the scheduler would end the job for it, and give only that reason.
TEST_F(SupervisionTest, ConsecutiveWorkerExitsAreReportedTogether) {
  ended(100, "ada", exited(75));
  ended(101, "bob", exited(75));
  const Steps steps = until(102.5);
  EXPECT_TRUE(steps.tell);
  EXPECT_THAT(steps.says, ElementsAre(HasSubstr("'ada'"), HasSubstr("'bob'"), HasSubstr("no worker runs")));
}

TEST_F(SupervisionTest, RepeatedlyKilledWorkersEndTheJob) {
  Steps all;
  int lives = 0;
  for (std::vector<std::string> alive{"ada", "bob"}; now_ < 300 && !all.tell;) {
    Steps steps;
    for (const std::string& name : alive) steps.add(ended(now_, name, SIGSEGV));
    lives += static_cast<int>(alive.size());
    steps.add(until(now_));
    alive = steps.starts;
    all.add(steps);
  }
  EXPECT_LT(now_, 160) << "about a minute";
  EXPECT_LE(lives, 24);
  EXPECT_THAT(all.says, testing::Contains(HasSubstr("too many failures in a row")));
  EXPECT_THAT(all.says, testing::Contains(HasSubstr("no worker runs")));
}

TEST_F(SupervisionTest, AFailingWorkerIsRetriedWhileOthersWork) {
  for (int i = 0; i < 3; ++i) {
    ended(now_, "bob", exited(69));
    EXPECT_EQ(until(now_ + 60).tell, i == 2) << i;
  }
  EXPECT_THAT(until(now_ + 60).starts, ElementsAre("bob"));
  until(now_ + 400);
  Steps steps = ended(now_, "bob", SIGKILL);
  EXPECT_THAT(steps.starts, ElementsAre("bob")) << "it had recovered";
}

TEST_F(SupervisionTest, AfterAStopRequestNothingIsRestarted) {
  EXPECT_TRUE(it_.interrupted().end);
  EXPECT_FALSE(it_.interrupted().end) << "once";
  ended(100, "ada", SIGKILL);
  ended(100, "bob", exited(75));
  const Steps steps = until(110);
  EXPECT_TRUE(steps.starts.empty() && steps.says.empty() && !steps.tell);
  EXPECT_EQ(ended(111, "scheduler", exited(75)).code, 75);
}

class SupervisedHosts : public testing::Test {
 protected:
  static LaunchPlan plan() {
    LaunchPlan plan;
    for (const char* name : {"lion", "mouse", "bear"}) {
      plan.hosts.emplace_back();
      plan.hosts.back().spec.name = name;
    }
    plan.processes = {{"scheduler", "lion", Role::scheduler, {}, ""},
                      {"server-0", "mouse", Role::shard, {}, ""},
                      {"ada", "mouse", Role::worker, {}, ""},
                      {"bob", "bear", Role::worker, {}, ""}};
    return plan;
  }
  void all_ready() {
    for (const char* host : {"lion", "mouse", "bear"}) it_.host_ready(host);
  }
  static Failure lost() { return {ExitCode::unreachable, "it is lost"}; }

  const LaunchPlan plan_ = plan();
  Supervision it_{plan_, [] { return "--resume"; }};
};

TEST_F(SupervisedHosts, NothingIsStartedBeforeAllHostsHaveAnswered) {
  EXPECT_FALSE(it_.host_ready("lion"));
  EXPECT_FALSE(it_.host_ready("mouse"));
  EXPECT_FALSE(it_.host_ready("mouse"));
  EXPECT_TRUE(it_.host_ready("bear"));
  EXPECT_FALSE(it_.host_ready("bear")) << "once";
}

TEST_F(SupervisedHosts, ProcessesAreNamedWithTheirHosts) {
  all_ready();
  Steps steps = it_.ended(at(100), "ada", SIGKILL, "; last words");
  EXPECT_THAT(steps.starts, ElementsAre("ada"));
  EXPECT_THAT(steps.says[0], AllOf(HasSubstr("process 'ada' on host 'mouse'"), HasSubstr("last words")));
  steps = it_.ended(at(101), "scheduler", SIGKILL, "");
  EXPECT_THAT(steps.says[0], HasSubstr("the scheduler on host 'lion' was killed"));
}

TEST_F(SupervisedHosts, CtrlCStopsTheScheduler) {
  all_ready();
  EXPECT_TRUE(it_.interrupted().end);
  EXPECT_FALSE(it_.interrupted().end) << "once";
  EXPECT_THAT(it_.host_lost("bear", lost()).says, IsEmpty()) << "hosts disconnect when the job ends";
  EXPECT_EQ(it_.ended(at(2), "scheduler", exited(75), "").code, 75);
}

TEST_F(SupervisedHosts, CtrlCBeforeTheStartEndsAtOnce) {
  it_.host_ready("lion");
  it_.host_ready("mouse");
  EXPECT_EQ(it_.interrupted().code, 75);
}

TEST_F(SupervisedHosts, AllHostsThatFailAreReportedBeforeTheLaunchEnds) {
  Steps steps = it_.host_lost("bear", {ExitCode::configuration, "no program there"});
  EXPECT_THAT(steps.says, ElementsAre("no program there"));
  EXPECT_EQ(steps.code, std::nullopt) << "the others have not answered";
  steps = it_.host_lost("mouse", {ExitCode::unreachable, "no way"});
  EXPECT_THAT(steps.says, ElementsAre("no way"));
  EXPECT_EQ(it_.wake(at(1)).code, std::nullopt);
  EXPECT_FALSE(it_.host_ready("lion")) << "nothing is started";
  EXPECT_EQ(it_.wake(at(2)).code, 78) << "of the first";
}

TEST_F(SupervisedHosts, AHostThatNeverAnsweredEndsTheLaunchWithItsCode) {
  it_.host_ready("lion");
  it_.host_ready("mouse");
  const Steps steps = it_.host_lost("bear", {ExitCode::configuration, "no program there"});
  EXPECT_THAT(steps.says[0], HasSubstr("no program there"));
  EXPECT_EQ(steps.code, 78);
}

TEST_F(SupervisedHosts, TheJobContinuesWhileAWorkerIsLeft) {
  all_ready();
  Steps steps = it_.host_lost("mouse", lost());
  EXPECT_THAT(steps.says, ElementsAre("it is lost"));
  EXPECT_TRUE(steps.tell) << "the scheduler ends the job if the training has not begun";
  EXPECT_FALSE(it_.wake(at(100)).tell);
  it_.host_lost("bear", lost());
  steps = it_.wake(at(101));
  EXPECT_TRUE(steps.tell) << "no worker is left";
  EXPECT_THAT(steps.says, ElementsAre(HasSubstr("no worker runs")));
}

TEST_F(SupervisedHosts, LosingTheSchedulersHostEndsTheJob) {
  all_ready();
  const Steps steps = it_.host_lost("lion", lost());
  EXPECT_EQ(steps.code, 69);
  EXPECT_THAT(steps.says, ElementsAre("it is lost"));
}

TEST_F(SupervisedHosts, ProcessesOfALostHostAreNotRestarted) {
  all_ready();
  it_.ended(at(100), "bob", exited(69), "");
  EXPECT_TRUE(it_.host_lost("bear", lost()).tell);
  EXPECT_FALSE(it_.host_lost("bear", lost()).tell) << "once";
  for (double now = 100; now < 200; now += 0.1) EXPECT_THAT(it_.wake(at(now)).starts, IsEmpty());
}

// A task of an engine, of a job whose scheduler is elsewhere.
class SupervisionOfTasks : public testing::Test {
 protected:
  SupervisionOfTasks() {
    plan_.here = true;
    plan_.tasks = 3;
    plan_.hosts.emplace_back();
    plan_.processes = {{"server-1", "", Role::shard, {}, ""}, {"worker-1", "", Role::worker, {}, ""}};
    it_.emplace(plan_, [] { return ""; });
    it_->host_ready("");
  }
  Steps until(double when) {
    Steps all;
    for (; now_ <= when; now_ += 0.1) all.add(it_->wake(at(now_)));
    return all;
  }

  double now_ = 100;
  LaunchPlan plan_;
  std::optional<Supervision> it_;
};

TEST_F(SupervisionOfTasks, TheTaskEndsWithItsLastProcess) {
  it_->ended(at(100), "worker-1", exited(0), "");
  EXPECT_EQ(until(101).code, std::nullopt);
  it_->ended(at(101), "server-1", exited(0), "");
  EXPECT_EQ(it_->wake(at(101)).code, 0) << "without the time of doubt";
}

TEST_F(SupervisionOfTasks, AStoppedJobIsToBeStartedAgain) {
  it_->ended(at(100), "worker-1", exited(75), "");
  it_->ended(at(100), "server-1", exited(75), "");
  const Steps steps = it_->wake(at(100));
  EXPECT_EQ(steps.code, 75);
  EXPECT_THAT(steps.starts, IsEmpty());
}

TEST_F(SupervisionOfTasks, AWorkerThatIsRefusedForNowIsRestarted) {
  it_->ended(at(100), "worker-1", exited(75), "; refused");
  const Steps steps = until(103);
  EXPECT_THAT(steps.starts, ElementsAre("worker-1"));
  EXPECT_EQ(steps.code, std::nullopt);
}

TEST_F(SupervisionOfTasks, AKilledProcessIsRestarted) {
  EXPECT_THAT(it_->ended(at(100), "worker-1", SIGKILL, "").starts, ElementsAre("worker-1"));
  EXPECT_THAT(it_->ended(at(101), "server-1", SIGKILL, "").starts, ElementsAre("server-1"));
  EXPECT_EQ(until(102).code, std::nullopt);
}

TEST_F(SupervisionOfTasks, AnInvalidWorkerEndsTheTaskIfItIsAlone) {
  it_->ended(at(100), "worker-1", exited(78), "; no GPU");
  EXPECT_THAT(until(103).says, ElementsAre(AllOf(HasSubstr("worker-1"), HasSubstr("no GPU"))))
      << "the server goes on";
  it_->ended(at(110), "server-1", exited(0), "");
  EXPECT_EQ(it_->wake(at(110)).code, 0) << "the job has finished";
}

TEST_F(SupervisionOfTasks, OneThatNeverReachesTheSchedulerEndsTheTask) {
  it_->ended(at(100), "server-1", exited(78), "");
  until(103);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(until(now_ + 10).code, std::nullopt);
    it_->ended(at(now_), "worker-1", exited(69), "");
  }
  EXPECT_EQ(until(now_ + 10).code, 69);
}

TEST_F(SupervisionOfTasks, ARequestEndsAllProcesses) {
  it_->ended(at(100), "worker-1", SIGKILL, "");
  EXPECT_TRUE(it_->interrupted().end);
  it_->ended(at(101), "worker-1", SIGTERM, "");
  it_->ended(at(101), "server-1", exited(75), "");
  const Steps steps = it_->wake(at(101));
  EXPECT_EQ(steps.code, 75);
  EXPECT_THAT(steps.starts, IsEmpty());
}

}  // namespace
}  // namespace steelyard::supervision_test
