// Roles started by hand: in any order, late, with another job, and their shutdown.
#include <gmock/gmock.h>

#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <memory>

#include "tests/support/process_run.h"

namespace steelyard::process_roles_test {
namespace {

using testing::HasSubstr;

class ProcessRoles : public ProcessTest {
 protected:
  [[nodiscard]] std::string endpoint() const { return "ipc://" + path("scheduler"); }

  std::unique_ptr<Process> scheduler(const std::vector<std::string>& settings = {}) {
    std::vector<std::string> arguments{"scheduler", job_, "--listen", endpoint(), "--run-dir", path("run")};
    for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
    return std::make_unique<Process>(path("scheduler.log"), arguments);
  }
  std::unique_ptr<Process> server(const std::string& name) {
    return start({"server", "--scheduler", endpoint(), "--name", name, "--listen", "127.0.0.1:*"}, name);
  }
  std::unique_ptr<Process> worker(const std::string& name, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"worker", "--scheduler", endpoint(), "--name", name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return start(arguments, name);
  }
  [[nodiscard]] bool round_was(const std::string& part) const {
    return text_of(path("run/rounds.jsonl")).find(part) != std::string::npos;
  }
  std::unique_ptr<Process> start(const std::vector<std::string>& arguments, const std::string& name) {
    return std::make_unique<Process>(path(name + ".log"), arguments);
  }
};

TEST_F(ProcessRoles, StartInAnyOrder) {
  const std::vector<std::string> roles{"scheduler", "s0", "s1", "ada", "bob"};
  for (int turn = 0; turn < 3; ++turn) {
    SCOPED_TRACE(turn);
    std::vector<std::string> order = roles;
    if (turn == 0) std::reverse(order.begin(), order.end());
    if (turn == 2) std::rotate(order.begin(), order.begin() + 2, order.end());
    std::vector<std::unique_ptr<Process>> runs;
    for (const std::string& role : order) {
      runs.push_back(role == "scheduler" ? scheduler() : role[0] == 's' ? server(role) : worker(role));
      // Gives this process time to start before the next, so that they start in the tested order.
      usleep(100'000);
    }
    for (const auto& run : runs) ends_clean(*run, 0);
    EXPECT_GT(accuracy("run"), 0.9);
    std::filesystem::remove_all(path("run"));
  }
}

// Host names and IPv6 addresses are accepted wherever addresses are; a free port is chosen.
TEST_F(ProcessRoles, ConnectByNameAndByIPv6) {
  for (const std::string host : {"localhost", "[::1]"}) {
    SCOPED_TRACE(host);
    const auto leader =
        start({"scheduler", job_, "--listen", host + ":*", "--run-dir", path("run")}, "scheduler-" + host);
    ASSERT_TRUE(
        eventually([&] { return leader->says("workers at tcp://") || leader->says("cannot listen"); }));
    const std::string output = leader->output();
    if (output.find("cannot listen") != std::string::npos) GTEST_SKIP() << "no IPv6 here: " << output;
    const std::size_t at = output.find("workers at ");
    const std::string bound = output.substr(at + 11, output.find('\n', at) - at - 11);
    const std::string there = host + bound.substr(bound.rfind(':'));
    std::vector<std::unique_ptr<Process>> others;
    for (const char* name : {"s0", "s1"})
      others.push_back(
          start({"server", "--scheduler", there, "--name", name, "--listen", host + ":*"}, name));
    for (const char* name : {"ada", "bob"})
      others.push_back(start({"worker", "--scheduler", there, "--name", name}, name));
    ends_clean(*leader, 0);
    for (const auto& run : others) ends_clean(*run, 0);
    EXPECT_GT(accuracy("run"), 0.9);
    std::filesystem::remove_all(path("run"));
  }
}

TEST_F(ProcessRoles, ALateWorkerJoinsTheRunningJob) {
  const auto leader = scheduler({"train.epochs=0", "train.seconds=4"});
  const auto s0 = server("s0");
  const auto s1 = server("s1");
  const auto ada = worker("ada");
  const auto bob = worker("bob");
  ASSERT_TRUE(eventually([&] { return round_was("\"round\":9,"); }));
  const auto cleo = worker("cleo");
  for (const auto* run : {&leader, &s0, &s1, &ada, &bob, &cleo}) ends_clean(**run, 0);
  EXPECT_TRUE(leader->says("worker 'cleo' joined"));
  EXPECT_TRUE(round_was("\"cleo\"]")) << "it never got a share";
}

TEST_F(ProcessRoles, ProcessesWithAnotherJobAreRefused) {
  const std::string larger =
      write("larger.toml", "[data]\nname = \"synthetic\"\n[train]\nbatch = 100\n[[worker]]\n");
  const auto leader = scheduler();
  const auto stranger = worker("stranger", {"--job", larger});
  ends_clean(*stranger, 76);
  EXPECT_THAT(stranger->output(), HasSubstr("refused"));
  const auto odd = start({"server", "--scheduler", endpoint(), "--name", "odd", "--job", larger}, "odd");
  ends_clean(*odd, 76);
  leader->signal(SIGTERM);
  ends_clean(*leader, 75);
}

TEST_F(ProcessRoles, CtrlCAtTheSchedulerEndsAllWithACheckpoint) {
  const auto leader = scheduler({"train.epochs=1000000"});
  std::vector<std::unique_ptr<Process>> others;
  for (const char* name : {"s0", "s1"}) others.push_back(server(name));
  for (const char* name : {"ada", "bob"}) others.push_back(worker(name));
  ASSERT_TRUE(eventually([&] { return round_was("\"round\":9,"); }));
  leader->signal(SIGINT);
  ends_clean(*leader, 75);
  for (const auto& run : others) ends_clean(*run, 75);
  EXPECT_TRUE(leader->says("run/checkpoints/"));
}

// As in a terminal where all of them were started in the background: all exit, in whatever order they get the
// signal.
TEST_F(ProcessRoles, CtrlCAtAllProcessesKeepsACheckpoint) {
  const auto leader = scheduler({"train.epochs=1000000"});
  std::vector<std::unique_ptr<Process>> others;
  for (const char* name : {"s0", "s1"}) others.push_back(server(name));
  for (const char* name : {"ada", "bob"}) others.push_back(worker(name));
  ASSERT_TRUE(eventually([&] { return leader->says("checkpoint of round"); }));
  for (const auto& run : others) run->signal(SIGINT);
  leader->signal(SIGINT);
  ends_clean(*leader, 75);
  for (const auto& run : others) ends_clean(*run, 75);
  EXPECT_GT(newest_checkpoint("run").progress.version, 0U);
}

TEST_F(ProcessRoles, CtrlCAtAServerEndsTheJobWithACheckpoint) {
  const auto leader = scheduler({"train.epochs=1000000"});
  const auto s0 = server("s0"), s1 = server("s1"), ada = worker("ada"), bob = worker("bob");
  ASSERT_TRUE(eventually([&] { return round_was("\"round\":9,"); }));
  s1->signal(SIGINT);
  for (const auto* run : {&leader, &s0, &s1, &ada, &bob}) ends_clean(**run, 75);
  EXPECT_TRUE(leader->says("run/checkpoints/"));
}

TEST_F(ProcessRoles, AWorkerThatLeavesHandsItsWorkToTheOthers) {
  const auto leader = scheduler({"train.epochs=0", "train.seconds=4"});
  const auto s0 = server("s0");
  const auto s1 = server("s1");
  const auto ada = worker("ada");
  const auto bob = worker("bob");
  ASSERT_TRUE(eventually([&] { return round_was("\"round\":9,"); }));
  bob->signal(SIGTERM);
  ends_clean(*bob, 75);
  ends_clean(*leader, 0);
  ends_clean(*ada, 0);
  EXPECT_TRUE(leader->says("worker 'bob' left"));
  EXPECT_GT(accuracy("run"), 0.9);
}

}  // namespace
}  // namespace steelyard::process_roles_test
