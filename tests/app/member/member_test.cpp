// Whole jobs of `steelyard member` tasks, started as an engine starts them: N equal commands, told apart by
// environment variables.
#include "app/member/member.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <regex>
#include <sstream>

#include "core/json.h"
#include "nn/cuda_devices.h"
#include "tests/support/process_run.h"

namespace steelyard::member_test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class MemberTest : public ProcessTest {
 protected:
  using Tasks = std::vector<std::unique_ptr<Process>>;

  std::unique_ptr<Process> task(unsigned rank, unsigned size, std::vector<std::string> more) const {
    std::vector<std::string> arguments{"member", "--run-dir", path("run"), "--wait", "20", "--grace", "20"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string log = path("task-" + std::to_string(rank) + ".log");
    // Process passes them on.
    setenv("OMPI_COMM_WORLD_RANK", std::to_string(rank).c_str(), 1);
    setenv("OMPI_COMM_WORLD_SIZE", std::to_string(size).c_str(), 1);
    auto it = std::make_unique<Process>(log, arguments);
    unsetenv("OMPI_COMM_WORLD_RANK");
    unsetenv("OMPI_COMM_WORLD_SIZE");
    return it;
  }
  Tasks tasks(unsigned size, const std::vector<std::string>& more) const {
    Tasks all;
    for (unsigned rank = 0; rank < size; ++rank) all.push_back(task(rank, size, more));
    return all;
  }
  // A job in a shared directory that lasts until it is stopped.
  [[nodiscard]] std::vector<std::string> in_directory(const std::string& epochs) const {
    return {job_, "--meet", path("meet"), "--set", "train.epochs=" + epochs};
  }
  [[nodiscard]] std::size_t rounds() const {
    const std::string text = text_of(path("run/rounds.jsonl"));
    return static_cast<std::size_t>(std::ranges::count(text, '\n'));
  }
  [[nodiscard]] bool comes_to_round(std::size_t count) const {
    return eventually([&] { return rounds() >= count; });
  }
  void all_end(const Tasks& tasks, int code) {
    for (const auto& it : tasks) ends_clean(*it, code);
  }
  // Each round is recorded once, in order.
  void expect_whole_record() const {
    std::uint64_t next = 0;
    std::istringstream lines(text_of(path("run/rounds.jsonl")));
    for (std::string line; std::getline(lines, line);) {
      const Json it = parse_json(line);
      if (!it.contains("round") || it.value("purpose", "") == "evaluate") continue;
      EXPECT_LE(it["round"].get<std::uint64_t>(), next);
      next = it["round"].get<std::uint64_t>() + 1;
    }
    EXPECT_GT(next, 0U);
  }

  static constexpr const char* endless = "1000000";
};

TEST_F(MemberTest, EqualTasksMeetInADirectoryAndTrain) {
  const Tasks all = tasks(3, in_directory("4"));
  all_end(all, 0);
  EXPECT_GT(accuracy("run"), 0.9);
  const std::string events = text_of(path("run/events.jsonl"));
  for (const char* name : {"worker 'ada' joined", "worker 'bob' joined", "worker 'worker-2' joined",
                           "server 'server-0' joined", "server 'server-1' joined"})
    EXPECT_THAT(events, HasSubstr(name));
  EXPECT_FALSE(fs::exists(path("meet/scheduler"))) << "the job has ended";
}

// servers = "workers": the task with a device, here the host executor, keeps the model. With keys.
TEST_F(MemberTest, TasksOnDevicesMayBeTheServers) {
  if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
  std::vector<std::string> words = in_directory("4");
  words.insert(words.end(), {"--set", "cluster.servers=workers", "--set", "worker.bob.device=host-cuda"});
  all_end(tasks(2, words), 0);
  EXPECT_GT(accuracy("run"), 0.9);
  const std::string events = text_of(path("run/events.jsonl"));
  EXPECT_THAT(events, HasSubstr("server 'bob' joined"));
  EXPECT_THAT(events, Not(HasSubstr("server 'server-0'")));
}

TEST_F(MemberTest, NoSecretIsInArgumentsOrEnvironment) {
  const Tasks all = tasks(2, in_directory(endless));
  ASSERT_TRUE(comes_to_round(5));
  std::vector<std::string> secrets;
  const std::regex key(R"([^ "\n]{40})");
  for (const char* role : {"scheduler", "server", "worker"}) {
    const std::string file = path(std::string("meet/keys/") + role + ".key");
    struct stat it {};
    ASSERT_EQ(stat(file.c_str(), &it), 0);
    EXPECT_EQ(it.st_mode & 0777U, 0600U);
    const std::string text = text_of(file);
    for (std::sregex_iterator found(text.begin(), text.end(), key); found != std::sregex_iterator(); ++found)
      secrets.push_back(found->str());
  }
  ASSERT_GE(secrets.size(), 3U);
  for (const auto& task : all) {
    for (const pid_t process : task->living()) {
      const std::string place = "/proc/" + std::to_string(process);
      const std::string open = text_of(place + "/cmdline") + text_of(place + "/environ");
      for (const std::string& secret : secrets) EXPECT_THAT(open, Not(HasSubstr(secret)));
    }
  }
  for (const auto& task : all) task->signal(SIGTERM);
  all_end(all, 75);
}

TEST_F(MemberTest, AStoppedJobContinuesWithTheSameCommand) {
  const std::vector<std::string> command{job_, "--meet", "127.0.0.1:" + free_port(), "--set",
                                         "train.epochs=60"};
  Tasks all = tasks(2, command);
  ASSERT_TRUE(comes_to_round(20));
  for (const auto& task : all) task->signal(SIGTERM);
  all_end(all, 75);
  const std::size_t before = rounds();
  all = tasks(2, command);
  all_end(all, 0);
  EXPECT_TRUE(all[0]->says("resuming from "));
  EXPECT_GT(rounds(), before);
  expect_whole_record();
  all = tasks(2, command);
  all_end(all, 0);
  EXPECT_TRUE(all[1]->says("has finished")) << "an engine may start a finished job again";
}

TEST_F(MemberTest, AKilledProcessIsRestartedByItsTask) {
  const Tasks all = tasks(3, in_directory(endless));
  ASSERT_TRUE(comes_to_round(5));
  const pid_t worker = all[2]->living_with("--name worker-2");
  ASSERT_NE(worker, 0);
  kill(worker, SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const pid_t next = all[2]->living_with("--name worker-2");
    return next != 0 && next != worker;
  }));
  const pid_t scheduler = all[0]->living_with(" scheduler ");
  ASSERT_NE(scheduler, 0);
  kill(scheduler, SIGKILL);
  ASSERT_TRUE(comes_to_round(rounds() + 50)) << "the restarted scheduler continues";
  for (const auto& task : all) task->signal(SIGTERM);
  all_end(all, 75);
}

TEST_F(MemberTest, ATaskThatIsStartedAgainRejoins) {
  Tasks all = tasks(3, in_directory(endless));
  ASSERT_TRUE(comes_to_round(5));
  all[2]->signal(SIGKILL);
  ends_clean(*all[2], -SIGKILL);  // its processes end with it
  ASSERT_TRUE(comes_to_round(rounds() + 50)) << "the others continue";
  all[2] = task(2, 3, in_directory(endless));
  const auto joined = [&] {
    const std::string text = text_of(path("run/events.jsonl"));
    const std::size_t first = text.find("worker 'worker-2' joined");
    return first != std::string::npos &&
           text.find("worker 'worker-2' joined", first + 1) != std::string::npos;
  };
  EXPECT_TRUE(eventually(joined));
  for (const auto& task : all) task->signal(SIGTERM);
  all_end(all, 75);
}

TEST_F(MemberTest, IfTheFirstTaskIsKilledTheJobIsSavedAndContinues) {
  Tasks all = tasks(2, in_directory(endless));
  ASSERT_TRUE(comes_to_round(20));
  all[0]->signal(SIGKILL);
  ends_clean(*all[0], -SIGKILL);
  ends_clean(*all[1], 75);
  const std::size_t before = rounds();
  all = tasks(2, in_directory(endless));
  EXPECT_TRUE(eventually([&] { return all[0]->says("resuming from "); }));
  ASSERT_TRUE(comes_to_round(before + 5));
  expect_whole_record();
  for (const auto& task : all) task->signal(SIGTERM);
  all_end(all, 75);
}

// mpirun leaves a second between SIGTERM and SIGKILL.
TEST_F(MemberTest, TheJobIsSavedAlthoughItsTasksAreKilledMeanwhile) {
  const Tasks all = tasks(2, in_directory(endless));
  ASSERT_TRUE(comes_to_round(20));
  const std::vector<pid_t> workers{all[0]->living_with(" worker "), all[1]->living_with(" worker ")};
  for (const pid_t worker : workers) kill(worker, SIGSTOP);  // the round cannot end
  for (const auto& task : all) task->signal(SIGTERM);
  ASSERT_TRUE(eventually(
      [&] { return text_of(path("run/events.jsonl")).find("stop requested") != std::string::npos; }));
  usleep(500'000);  // a second request would count by then
  for (const auto& task : all) task->signal(SIGKILL);
  for (const pid_t worker : workers) kill(worker, SIGCONT);
  all_end(all, -SIGKILL);
  EXPECT_THAT(text_of(path("run/result.json")), HasSubstr("\"exit_code\": 75"));
}

// As after a failure of its machine: no process says goodbye, and those of the other task still run.
TEST_F(MemberTest, OtherTasksFollowAJobThatIsStartedAgainElsewhere) {
  Tasks all = tasks(2, in_directory(endless));
  ASSERT_TRUE(comes_to_round(20));
  const std::vector<pid_t> first = all[0]->living();
  for (const pid_t process : first) kill(process, SIGSTOP);
  for (const pid_t process : first) kill(process, SIGKILL);
  ends_clean(*all[0], -SIGKILL);
  const std::size_t before = rounds();
  all[0] = task(0, 2, in_directory(endless));
  ASSERT_TRUE(comes_to_round(before + 5));
  EXPECT_TRUE(all[1]->says("started again"));
  for (const auto& task : all) task->signal(SIGTERM);
  all_end(all, 75);
}

TEST_F(MemberTest, WithMirrorsAKilledFirstTaskCostsNothing) {
  std::vector<std::string> command = in_directory(endless);
  command.insert(command.end(), {"--set", "cluster.replicas=1"});
  Tasks all = tasks(3, command);
  ASSERT_TRUE(eventually([&] {
    const std::string text = text_of(path("run/events.jsonl"));
    return text.find("'server-1/0' mirrors") != std::string::npos ||
           text.find(" mirrors ") != std::string::npos;
  }));
  ASSERT_TRUE(comes_to_round(20));
  const std::vector<pid_t> first = all[0]->living();
  for (const pid_t process : first) kill(process, SIGSTOP);
  for (const pid_t process : first) kill(process, SIGKILL);
  ends_clean(*all[0], -SIGKILL);
  const std::size_t before = rounds();
  all[0] = task(0, 3, command);
  ASSERT_TRUE(comes_to_round(before + 20));
  EXPECT_TRUE(all[0]->says("continuing job")) << "from the journal, not from a checkpoint";
  EXPECT_FALSE(all[1]->says("started again"));
  expect_whole_record();
  for (const auto& task : all) task->signal(SIGTERM);
  all_end(all, 75);
}

TEST_F(MemberTest, ASignalSavesACheckpointAndTheJobContinues) {
  const Tasks all = tasks(2, in_directory(endless));
  ASSERT_TRUE(comes_to_round(5));
  for (const auto& task : all) task->signal(SIGUSR1);
  EXPECT_TRUE(eventually([&] {
    const std::string events = text_of(path("run/events.jsonl"));
    const std::size_t requested = events.find("checkpoint requested");
    return requested != std::string::npos &&
           events.find("checkpoint of round ", requested) != std::string::npos;
  }));
  ASSERT_TRUE(comes_to_round(rounds() + 20));
  for (const auto& task : all) task->signal(SIGTERM);
  all_end(all, 75);
}

TEST_F(MemberTest, ATaskEndsWithItsParent) {
  const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "steelyard").string();
  Tasks all;
  all.push_back(task(0, 2, in_directory(endless)));
  const std::string line = "'" + program + "' member '" + job_ + "' --run-dir '" + path("run") +
                           "' --meet '" + path("meet") + "' --rank 1 --size 2 --set train.epochs=" + endless +
                           "; true";
  Process engine(path("engine.log"), {"-c", line}, {}, "/bin/sh");
  ASSERT_TRUE(comes_to_round(5));
  engine.signal(SIGKILL);
  ends_clean(engine, -SIGKILL);
  all[0]->signal(SIGTERM);
  all_end(all, 75);
}

TEST_F(MemberTest, TasksThatDisagreeAreRefused) {
  EXPECT_EQ(run({"member", job_, "--meet", path("meet")}), 2);
  EXPECT_THAT(said_, HasSubstr("--run-dir"));
  EXPECT_EQ(run({"member", job_, "--run-dir", path("run"), "--meet", path("meet")}), 2);
  EXPECT_THAT(said_, HasSubstr("--rank"));
  EXPECT_EQ(run({"member", job_, "--run-dir", path("run"), "--meet", "10.255.0.1:7070", "--rank", "0",
                 "--size", "1"}),
            78);
  EXPECT_THAT(said_, HasSubstr("--insecure"));
}

TEST_F(MemberTest, ScriptsAreTheWorkers) {
  const std::string engine = (fs::read_symlink("/proc/self/exe").parent_path() / "own_engine").string();
  const std::string script =
      write("train.sh", "#!/bin/sh\necho \"$STEELYARD_NAME has $*\"\nexec " + engine +
                            " worker --scheduler $STEELYARD --name $STEELYARD_NAME --keys $STEELYARD_KEYS\n");
  fs::permissions(script, fs::perms::owner_all);
  const Tasks all = tasks(2, {"--meet", path("meet"), "--set", "train.epochs=3", "--set", "train.batch=250",
                              "--set", "train.lr=0.01", script, "--width", "64"});
  all_end(all, 0);
  EXPECT_TRUE(all[1]->says("worker-1: worker-1 has --width 64"));
  EXPECT_GT(accuracy("run"), 0.9);
}

}  // namespace
}  // namespace steelyard::member_test
