// A scheduler and its standby as real processes, each with its own port.
#include <gmock/gmock.h>

#include <csignal>
#include <memory>

#include "tests/support/process_run.h"

namespace steelyard::process_standby_test {
namespace {

using testing::HasSubstr;

class ProcessStandby : public ProcessTest {
 protected:
  std::unique_ptr<Process> start(const std::vector<std::string>& arguments, const std::string& name) {
    return std::make_unique<Process>(path(name + ".log"), arguments);
  }
  void begin() {
    const std::string here = "127.0.0.1:" + free_port();
    std::string there = here;
    while (there == here) there = "127.0.0.1:" + free_port();
    const std::string both = here + "," + there;
    scheduler =
        start({"scheduler", job_, "--listen", here, "--run-dir", path("run"), "--set", "train.epochs=150",
               "--set", "cluster.sum_order=ordered", "--set", "cluster.policy=equal"},
              "scheduler");
    standby = start(
        {"standby", "--scheduler", here, "--listen", there, "--run-dir", path("standby"), "--web", ":0"},
        "standby");
    for (const char* name : {"s0", "s1"})
      others.push_back(start({"server", "--scheduler", both, "--name", name}, name));
    for (const char* name : {"ada", "bob"})
      others.push_back(start({"worker", "--scheduler", both, "--name", name}, name));
    ASSERT_TRUE(eventually([&] { return scheduler->says("a standby follows"); })) << standby->output();
    ASSERT_TRUE(eventually([&] { return text_of(path("run/rounds.jsonl")).size() > 4000; }));
  }
  void expect_undisturbed(const std::string& where) {
    ASSERT_EQ(run(train("quiet", {"train.epochs=150", "cluster.sum_order=ordered", "cluster.policy=equal"})),
              0)
        << said_;
    EXPECT_THAT(newest_checkpoint(where).parameters,
                testing::Pointwise(testing::FloatNear(1e-4F), newest_checkpoint("quiet").parameters));
  }

  std::unique_ptr<Process> scheduler, standby;
  std::vector<std::unique_ptr<Process>> others;
};

TEST_F(ProcessStandby, TakesOverWhenTheSchedulerIsKilled) {
  begin();
  scheduler->signal(SIGKILL);
  ends_clean(*standby, 0);
  EXPECT_TRUE(standby->says("leading the job now"));
  EXPECT_TRUE(standby->says("the run can be watched at http://"));
  for (const auto& other : others) ends_clean(*other, 0);
  expect_undisturbed("standby");
}

// As if its machine had hung: it continues after the standby has taken over, and exits.
TEST_F(ProcessStandby, ASupersededSchedulerExits) {
  begin();
  scheduler->signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return standby->says("leading the job now"); })) << standby->output();
  EXPECT_TRUE(eventually([&] { return standby->says("continuing job"); })) << standby->output();
  scheduler->signal(SIGCONT);
  EXPECT_EQ(scheduler->code(), 78) << scheduler->output();
  EXPECT_THAT(scheduler->output(), HasSubstr("its standby declared this scheduler lost"));
  ends_clean(*standby, 0);
  for (const auto& other : others) ends_clean(*other, 0);
  expect_undisturbed("standby");
}

// A worker that was stopped meanwhile still has its connection to the former scheduler, while the servers
// follow the standby.
TEST_F(ProcessStandby, ASupersededSchedulerKeepsNoWorker) {
  begin();
  const auto& ada = others[2];
  ada->signal(SIGSTOP);
  scheduler->signal(SIGSTOP);
  EXPECT_TRUE(eventually([&] { return standby->says("continuing job"); })) << standby->output();
  EXPECT_TRUE(eventually([&] { return standby->says("worker 'ada'"); })) << standby->output();
  scheduler->signal(SIGCONT);
  ada->signal(SIGCONT);
  EXPECT_EQ(scheduler->code(), 78) << scheduler->output();
  ends_clean(*standby, 0);
  for (const auto& other : others) ends_clean(*other, 0);
  expect_undisturbed("standby");
}

TEST_F(ProcessStandby, LosingTheStandbyDoesNotDisturbTheJob) {
  begin();
  standby->signal(SIGKILL);
  ends_clean(*scheduler, 0);
  EXPECT_TRUE(scheduler->says("the standby is lost"));
  for (const auto& other : others) ends_clean(*other, 0);
  expect_undisturbed("run");
}

TEST_F(ProcessStandby, ExitsWithTheJob) {
  begin();
  ends_clean(*scheduler, 0);
  ends_clean(*standby, 0);
}

}  // namespace
}  // namespace steelyard::process_standby_test
