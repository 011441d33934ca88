// Processes that are stopped, cut off or killed repeatedly: the others continue, the stall is reported, and
// the process is readmitted. Real processes, and network namespaces for cut connections.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "tests/support/namespaces.h"
#include "tests/support/process_run.h"

namespace steelyard::process_stall_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Timeouts are short, so stalls can be short. Rounds are long enough not to fill the disk.
const std::vector<std::string> impatient{"cluster.heartbeat=0.1", "cluster.heartbeat_timeout=1",
                                         "train.epochs=1000000"};
const auto stall = std::chrono::milliseconds(2500);

class ProcessStall : public ProcessTest {
 protected:
  // The number of recorded rounds.
  [[nodiscard]] std::size_t rounds() const {
    const std::string lines = text_of(path("run/rounds.jsonl"));
    return static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n'));
  }
  // Whether the newest rounds include this worker.
  [[nodiscard]] bool takes_part(const std::string& worker) const {
    const std::string lines = text_of(path("run/rounds.jsonl"));
    const std::string last = lines.substr(lines.size() - std::min<std::size_t>(lines.size(), 600));
    return last.find("\"" + worker + "\"") != std::string::npos;
  }
  void stop_and_go(pid_t process) {
    ASSERT_NE(process, 0);
    kill(process, SIGSTOP);
    std::this_thread::sleep_for(stall);
    kill(process, SIGCONT);
  }
  // The run stops cleanly on request, and its model is good.
  void ends_well(Process& run) {
    run.signal(SIGINT);
    ends_clean(run, 75);
    EXPECT_GT(accuracy("run"), 0.9);
    EXPECT_THAT(text_of(path("run/result.json")), HasSubstr("\"interrupted\""));
  }
};

TEST_F(ProcessStall, AStoppedWorkerIsDroppedAndReadmitted) {
  Process run(path("run.log"), train("run", impatient));
  ASSERT_TRUE(eventually([&] { return takes_part("bob"); }));
  stop_and_go(run.living_with("--name bob"));
  EXPECT_TRUE(run.says("worker 'bob' has been silent for too long"));
  EXPECT_FALSE(takes_part("bob")) << "the others continued";
  EXPECT_TRUE(eventually([&] { return takes_part("bob"); })) << "it has rejoined";
  EXPECT_FALSE(run.says("starting 'bob'")) << "it is the same process";
  ends_well(run);
}

TEST_F(ProcessStall, AStoppedSchedulerDeclaresNoWorkerLost) {
  Process run(path("run.log"), train("run", impatient));
  ASSERT_TRUE(eventually([&] { return takes_part("bob"); }));
  stop_and_go(run.living_with(" scheduler "));
  const std::size_t before = rounds();
  EXPECT_TRUE(eventually([&] { return rounds() > before + 20 && takes_part("bob"); }));
  EXPECT_FALSE(run.says("silent for too long"));
  ends_well(run);
}

TEST_F(ProcessStall, AStoppedServerMakesRoundsWait) {
  std::vector<std::string> settings = impatient;
  settings[1] = "cluster.heartbeat_timeout=10";
  Process run(path("run.log"), train("run", settings));
  ASSERT_TRUE(eventually([&] { return takes_part("bob"); }));
  stop_and_go(run.living_with("--name server-1"));
  const std::size_t before = rounds();
  EXPECT_TRUE(eventually([&] { return rounds() > before + 20; }));
  ends_well(run);
}

// No other process has its shard, so the job waits for it regardless of `heartbeat_timeout`.
TEST_F(ProcessStall, TheJobWaitsForAStoppedServerWithoutAMirror) {
  Process run(path("run.log"), train("run", impatient));
  ASSERT_TRUE(eventually([&] { return takes_part("bob"); }));
  stop_and_go(run.living_with("--name server-1"));
  EXPECT_TRUE(eventually([&] { return run.says("is back after"); })) << run.output();
  EXPECT_TRUE(run.says("server 'server-1' at ")) << run.output();
  EXPECT_TRUE(run.says("no mirror has its part of the model: the job waits for it")) << run.output();
  const std::size_t before = rounds();
  EXPECT_TRUE(eventually([&] { return rounds() > before + 20 && takes_part("bob"); }));
  ends_well(run);
}

TEST_F(ProcessStall, CtrlCEndsAJobThatWaitsForAServer) {
  Process run(path("run.log"), train("run", impatient));
  ASSERT_TRUE(eventually([&] { return takes_part("bob"); }));
  const pid_t server = run.living_with("--name server-1");
  ASSERT_NE(server, 0);
  kill(server, SIGSTOP);
  EXPECT_TRUE(eventually([&] { return run.says("the job waits for it"); })) << run.output();
  run.signal(SIGINT);
  EXPECT_TRUE(eventually([&] { return run.says("server lost: server 'server-1' is lost"); })) << run.output();
  kill(server, SIGCONT);
  EXPECT_EQ(run.code(), 69) << run.output();
}

TEST_F(ProcessStall, RepeatedKillsOfAWorkerDoNotEndTheJob) {
  Process run(path("run.log"), train("run", impatient));
  pid_t last = 0;
  for (int kills = 0; kills < 5; ++kills) {
    ASSERT_TRUE(eventually([&] { return run.living_with("--name bob") != last && takes_part("ada"); }))
        << kills;
    ASSERT_TRUE(eventually([&] { return run.living_with("--name bob") != 0; }));
    last = run.living_with("--name bob");
    kill(last, SIGKILL);
  }
  EXPECT_TRUE(eventually([&] { return run.says("starting 'bob' again in "); }))
      << "its immediate restarts are used up";
  EXPECT_TRUE(eventually([&] { return run.living_with("--name bob") != 0; }));
  ends_well(run);
}

// Ctrl-S: the terminal accepts no output until Ctrl-Q.
TEST_F(ProcessStall, AStoppedTerminalStopsNothingElse) {
  int keyboard = -1, screen = -1;
  ASSERT_EQ(openpty(&keyboard, &screen, nullptr, nullptr, nullptr), 0);
  std::vector<std::string> settings = impatient;
  settings.emplace_back("train.seconds=6");
  Process run(path("run.log"), train("run", settings), [&] {
    for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(screen, stream);
  });
  ASSERT_TRUE(eventually([&] { return rounds() > 10; }));
  ASSERT_EQ(tcflow(screen, TCOOFF), 0);
  EXPECT_TRUE(eventually([&] { return accuracy("run") > 0.9; })) << "training ends and writes its result";
  EXPECT_THAT(text_of(path("run/result.json")), HasSubstr("\"finished\""));
  ASSERT_EQ(tcflow(screen, TCOON), 0);
  std::string output;
  ASSERT_EQ(fcntl(keyboard, F_SETFL, O_NONBLOCK), 0);
  EXPECT_TRUE(eventually([&] {
    std::array<char, 4096> some;
    for (ssize_t size = 0; (size = read(keyboard, some.data(), some.size())) > 0;)
      output.append(some.data(), size);
    return run.living().empty();
  }));
  close(keyboard);
  close(screen);
  EXPECT_EQ(run.code(), 0);
  EXPECT_THAT(output, HasSubstr("test accuracy")) << "delayed output is shown";
}

TEST_F(ProcessStall, WithoutWorkersTheJobEndsWithAConsistentReason) {
  Process run(path("run.log"), train("run", impatient));
  ASSERT_TRUE(eventually([&] { return takes_part("bob"); }));
  for (const char* name : {"--name ada", "--name bob"}) kill(run.living_with(name), SIGTERM);
  const int code = run.code().value_or(-1);
  const auto result = nlohmann::json::parse(text_of(path("run/result.json")), nullptr, false);
  EXPECT_EQ(result["exit_code"], code);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("ending the job: no worker runs"), Not(HasSubstr("on request"))));
}

class ProcessCut : public ProcessStall {
 protected:
  void SetUp() override {
    ProcessStall::SetUp();
    if (!IsSkipped() && !hosts_.ready()) GTEST_SKIP() << no_namespaces;
  }
  std::unique_ptr<Process> on(int host, const std::string& name, const std::vector<std::string>& arguments) {
    return std::make_unique<Process>(path(name + ".log"), arguments, Namespaces::enter(host));
  }
  std::unique_ptr<Process> scheduler() {
    std::vector<std::string> arguments{"scheduler",  job_,        "--listen", "0.0.0.0:7070",
                                       "--insecure", "--run-dir", path("run")};
    for (const std::string& setting : impatient) arguments.insert(arguments.end(), {"--set", setting});
    return on(1, "scheduler", arguments);
  }
  std::unique_ptr<Process> server(const std::string& name) {
    return on(
        2, name,
        {"server", "--scheduler", "10.77.2.1:7070", "--name", name, "--listen", "0.0.0.0:*", "--insecure"});
  }
  std::unique_ptr<Process> worker(int host, const std::string& name) {
    const std::string scheduler = "10.77." + std::to_string(host) + ".1:7070";
    return on(host, name, {"worker", "--scheduler", scheduler, "--name", name});
  }
  // The port of a server that has joined.
  static int port_of(const Process& scheduler, const std::string& name) {
    const std::string before = "server '" + name + "' joined at tcp://10.77.2.2:";
    eventually([&] { return scheduler.says(before); });
    const std::string text = scheduler.output();
    return std::atoi(text.c_str() + text.find(before) + before.size());
  }

  const Namespaces hosts_;
};

TEST_F(ProcessCut, AWorkerRejoinsAfterANetworkCut) {
  const auto leader = scheduler(), s0 = server("s0"), s1 = server("s1");
  const auto ada = worker(2, "ada"), bob = worker(3, "bob");
  ASSERT_TRUE(eventually([&] { return takes_part("bob"); }));
  ASSERT_TRUE(Namespaces::cut(3));
  std::this_thread::sleep_for(stall);
  EXPECT_TRUE(leader->says("worker 'bob' has been silent for too long"));
  EXPECT_FALSE(takes_part("bob"));
  EXPECT_TRUE(bob->says("nothing from the scheduler"));
  ASSERT_TRUE(Namespaces::mend(3));
  EXPECT_TRUE(eventually([&] { return takes_part("bob"); }));
  EXPECT_TRUE(bob->says("the scheduler answers again"));
  leader->signal(SIGINT);
  for (const auto* run : {&leader, &s0, &s1, &ada, &bob}) ends_clean(**run, 75);
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(ProcessCut, AWorkerCutOffFromOneShardIsDropped) {
  const auto leader = scheduler(), s0 = server("s0"), s1 = server("s1");
  const auto ada = worker(2, "ada"), bob = worker(3, "bob");
  ASSERT_TRUE(eventually([&] { return takes_part("bob"); }));
  ASSERT_TRUE(Namespaces::cut(3, port_of(*leader, "s1")));
  const std::size_t before = rounds();
  EXPECT_TRUE(eventually([&] { return rounds() > before + 50 && !takes_part("bob"); })) << leader->output();
  EXPECT_THAT(leader->output(), AllOf(HasSubstr("'bob'"), HasSubstr("s1")));
  ASSERT_TRUE(Namespaces::mend(3));
  EXPECT_TRUE(eventually([&] { return takes_part("bob"); })) << "it has rejoined";
  leader->signal(SIGINT);
  for (const auto* run : {&leader, &s0, &s1, &ada, &bob}) ends_clean(**run, 75);
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(ProcessCut, AWorkerThatNeverReachesAShardDelaysNoRound) {
  const auto leader = scheduler(), s0 = server("s0"), s1 = server("s1");
  ASSERT_TRUE(Namespaces::cut(3, port_of(*leader, "s1")));
  const auto bob = worker(3, "bob");
  ASSERT_TRUE(eventually([&] { return leader->says("worker 'bob' joined"); }));
  const auto ada = worker(2, "ada"), cleo = worker(2, "cleo");
  EXPECT_TRUE(eventually([&] { return rounds() > 40 && takes_part("ada") && takes_part("cleo"); }))
      << leader->output();
  EXPECT_FALSE(takes_part("bob"));
  leader->signal(SIGINT);
  for (const auto* run : {&leader, &s0, &s1, &ada, &bob, &cleo}) ends_clean(**run, 75);
  EXPECT_GT(accuracy("run"), 0.9);
}

}  // namespace
}  // namespace steelyard::process_stall_test
