// `launch` as a process: with a program in place of ssh, and with network namespaces as hosts.
#include "app/launch/launch.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "tests/support/namespaces.h"
#include "tests/support/process_run.h"

namespace steelyard::launch_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::AnyOf;
using testing::HasSubstr;

// Passes its last argument to a shell in a directory of its own, as sshd does, and nothing else.
constexpr const char* fake_ssh = R"(#!/bin/sh
while [ $# -gt 2 ]; do shift; done
echo "$1" >> "$FAKE_HOME/asked"
if [ "$1" = "ann@deaf" ]; then
  echo "ann@deaf: Permission denied (publickey)." >&2
  exit 255
fi
echo "Welcome to this machine!"
cd "$FAKE_HOME" && exec sh -c "$2"
)";

class LaunchTest : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    program_ = (fs::read_symlink("/proc/self/exe").parent_path() / "steelyard").string();
    // Names that work only if they are quoted.
    fs::create_directories(directory_ / "bin");
    fs::create_directories(directory_ / "home" / "it's a $job");
    fs::create_symlink(program_, directory_ / "bin" / "steel yard");
    fs::permissions(write("bin/ssh", fake_ssh), fs::perms::owner_all);
    path_before_ = getenv("PATH");
    setenv("PATH", (path("bin") + ":" + path_before_).c_str(), 1);
    setenv("FAKE_HOME", path("home").c_str(), 1);
  }
  void TearDown() override {
    if (!path_before_.empty()) setenv("PATH", path_before_.c_str(), 1);
    unsetenv("FAKE_HOME");
    ProcessTest::TearDown();
  }

  // Two hosts: the second has the workers.
  [[nodiscard]] std::string hosts(const std::string& second = "", const std::string& program = "") const {
    const std::string used = program.empty() ? path("bin/steel yard") : program;
    return "[[host]]\nname = \"lion\"\nssh = \"ann@lion\"\naddress = \"127.0.0.1\"\nscheduler = true\n" +
           ("port = " + free_port()) + "\nservers = 1\nsteelyard = \"" + path("bin/steel yard") +
           "\"\ndirectory = \"it's a $job\"\n" + "[[host]]\nname = \"mouse\"\nservers = 1\n" +
           (second.empty() ? "ssh = \"ann@mouse\"\naddress = \"127.0.0.1\"" : second) + "\nsteelyard = \"" +
           used +
           "\"\n[[host.worker]]\nname = \"ada\"\n[[host.worker]]\nname = \"bob\"\nsimulate_slowdown = 2\n";
  }
  // A launch puts its logs into runs/ of its working directory, here the directory of the test.
  std::unique_ptr<Process> launch(const std::string& hosts_text, const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"launch", write("hosts.toml", hosts_text), job_};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const fs::path log = directory_ / ("launch-" + std::to_string(++launches_) + ".log");
    return std::make_unique<Process>(log, arguments, [this] {
      if (chdir(directory_.c_str()) != 0) _exit(125);
    });
  }
  [[nodiscard]] std::vector<std::string> endless() const {
    return {"--run-dir", "run", "--set", "train.epochs=1000000"};
  }
  [[nodiscard]] fs::path there() const { return directory_ / "home" / "it's a $job" / "run"; }

  std::string program_;
  std::string path_before_;
  int launches_ = 0;
};

TEST_F(LaunchTest, TrainsOnHostsOverSsh) {
  const auto run = launch(hosts(), {"--run-dir", "run"});
  ends_clean(*run, 0);
  EXPECT_TRUE(run->says("test accuracy")) << "the scheduler's summary";
  EXPECT_TRUE(fs::exists(there() / "result.json")) << "results are where the scheduler is";
  EXPECT_FALSE(fs::is_empty(there() / "checkpoints"));
  EXPECT_THAT(text_of(path("home/asked")), AnyOf("ann@lion\nann@mouse\n", "ann@mouse\nann@lion\n"))
      << "one connection per host";
  EXPECT_THAT(text_of(path("runs/small-1/log/scheduler.log")),
              AllOf(HasSubstr("worker 'ada' joined"), HasSubstr("test accuracy")));
  EXPECT_THAT(text_of(path("runs/small-1/log/host-lion.log")), HasSubstr("Welcome to this machine!"));
  for (const char* silent : {"ada", "server-0"})
    EXPECT_TRUE(fs::exists(path("runs/small-1/log/" + std::string(silent) + ".log"))) << silent;
  EXPECT_THAT(text_of(path("runs/small-1/job.toml")), HasSubstr("simulate_slowdown = 2"));
  EXPECT_FALSE(fs::exists(path("runs/small-1/checkpoints"))) << "they are on the scheduler's host";
}

TEST_F(LaunchTest, ATunnelLeadsToThePage) {
  const std::string port = free_port(), page = "127.0.0.1:" + port;
  // ssh -N keeps the tunnel until it is killed.
  fs::permissions(write("bin/ssh",
                        "#!/bin/sh\nif [ \"$1\" = -N ]; then echo \"$*\" > \"$FAKE_HOME/tunnel\"; exec sleep "
                        "1000; fi\n" +
                            std::string(fake_ssh)),
                  fs::perms::owner_all);
  std::vector<std::string> more = endless();
  more.insert(more.end(), {"--web", ":" + port});
  const auto run = launch(hosts(), more);
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  EXPECT_TRUE(run->says("http://" + page + "/ leads to the page on host 'lion' while this command runs"));
  EXPECT_THAT(text_of(path("home/tunnel")), HasSubstr("-L " + page + ":" + page + " ann@lion"));
  run->signal(SIGINT);
  ends_clean(*run, 75);  // and no process is left
}

TEST_F(LaunchTest, CtrlCEndsAllWithACheckpoint) {
  const auto run = launch(hosts(), endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  run->signal(SIGINT);
  ends_clean(*run, 75);
  EXPECT_TRUE(run->says("interrupted"));
  EXPECT_TRUE(fs::exists(there() / "result.json"));
}

// The kernel signals children of the launcher. `attend` stands for another machine: it only sees its
// connection close.
TEST_F(LaunchTest, AKilledLauncherLeavesNoProcessBehind) {
  const auto run = launch(hosts(), endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  run->signal(SIGKILL);
  EXPECT_EQ(run->code(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return run->living().empty(); })) << "processes are left behind";
  EXPECT_TRUE(fs::exists(there() / "result.json")) << "the scheduler exited cleanly";
}

TEST_F(LaunchTest, AKilledWorkerIsRestarted) {
  const auto run = launch(hosts(), endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  const pid_t ada = run->living_with("--name ada");
  ASSERT_NE(ada, 0);
  kill(ada, SIGKILL);
  EXPECT_TRUE(eventually([&] { return run->says("starting 'ada' again"); }));
  EXPECT_TRUE(eventually([&] {
    const pid_t now = run->living_with("--name ada");
    return now != 0 && now != ada;
  }));
  EXPECT_TRUE(run->says("process 'ada' on host 'mouse' was killed by signal 9"));
  run->signal(SIGINT);
  ends_clean(*run, 75);
}

TEST_F(LaunchTest, AKilledSchedulerIsRestartedOnItsHost) {
  const auto run = launch(hosts(), endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  kill(run->living_with(" scheduler "), SIGKILL);
  ASSERT_TRUE(eventually([&] { return run->says("the scheduler was restarted; the job continues"); }));
  EXPECT_TRUE(run->says("the scheduler on host 'lion' was killed by signal 9"));
  run->signal(SIGINT);
  ends_clean(*run, 75);
}

TEST_F(LaunchTest, ARestartedSchedulerFindsAnUnnamedRun) {
  const auto run = launch(hosts(), {"--set", "train.epochs=1000000"});
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  kill(run->living_with(" scheduler "), SIGKILL);
  ASSERT_TRUE(eventually([&] { return run->says("the scheduler was restarted; the job continues"); }));
  run->signal(SIGINT);
  ends_clean(*run, 75);
  const fs::path runs = directory_ / "home" / "it's a $job" / "runs";
  EXPECT_EQ(std::distance(fs::directory_iterator(runs), fs::directory_iterator{}), 1);
}

TEST_F(LaunchTest, ProcessesOfALostHostExit) {
  const std::string spare =
      "[[host]]\nname = \"bear\"\nssh = \"ann@bear\"\naddress = \"127.0.0.1\"\nsteelyard = \"" + program_ +
      "\"\n[[host.worker]]\nname = \"cleo\"\n";
  const auto run = launch(hosts() + spare, endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  const pid_t attends = run->living_with(program_ + " attend");  // the only one started by this path
  ASSERT_NE(attends, 0);
  kill(attends, SIGKILL);
  EXPECT_TRUE(eventually([&] { return run->says("host 'bear': the connection is lost"); }));
  EXPECT_TRUE(
      eventually([&] { return run->says("worker 'cleo' left") || run->says("worker 'cleo' is lost"); }));
  EXPECT_TRUE(eventually([&] { return run->living_with("--name cleo") == 0; }));
  run->signal(SIGINT);
  ends_clean(*run, 75);
}

TEST_F(LaunchTest, ARefusingHostEndsTheLaunch) {
  const auto run = launch(hosts("ssh = \"ann@deaf\"\naddress = \"127.0.0.1\""));
  ends_clean(*run, 69);
  EXPECT_THAT(run->output(), AllOf(HasSubstr("host 'mouse' (server-1, ada, bob)"),
                                   HasSubstr("Permission denied (publickey)"), HasSubstr("BatchMode")));
}

TEST_F(LaunchTest, AMissingProgramEndsTheLaunch) {
  const auto run = launch(hosts("", "/nowhere/steelyard"));
  ends_clean(*run, 78);
  EXPECT_THAT(run->output(),
              AllOf(HasSubstr("there is no program '/nowhere/steelyard' there (ssh ann@mouse)"),
                    HasSubstr("steelyard = in the hosts file")));
}

TEST_F(LaunchTest, AnotherReleaseEndsTheLaunch) {
  const auto run = launch(hosts("", program_ + "_other"));
  ends_clean(*run, 76);
  EXPECT_THAT(run->output(), AllOf(HasSubstr("host 'mouse'"), HasSubstr("the same release everywhere")));
}

TEST_F(LaunchTest, AFailedRoleEndsTheJobWithAConsistentReason) {
  const auto run = launch(hosts() + "data = { dirr = \"x\" }\n", {"--run-dir", "run"});
  ends_clean(*run, 1);
  EXPECT_THAT(text_of(there() / "result.json"),
              AllOf(HasSubstr("\"worker failed\""), HasSubstr("\"exit_code\": 1,"),
                    HasSubstr("worker 'bob' failed: data set 'synthetic' has no option 'dirr'")));
  EXPECT_FALSE(run->says("on request"));
}

TEST_F(LaunchTest, ADryRunStartsNothing) {
  const auto run = launch(hosts(), {"--dry-run"});
  ends_clean(*run, 0);
  EXPECT_TRUE(run->says("ann@lion"));
  EXPECT_FALSE(fs::exists(path("home/asked")));
  EXPECT_FALSE(fs::exists(path("runs")));
}

// If all hosts are this machine, there is one run directory, as in `train`, and --resume continues it.
TEST_F(LaunchTest, ResumesOnThisMachine) {
  const std::string here =
      "[[host]]\nscheduler = true\nport = " + free_port() +
      "\nservers = 2\n[[host.worker]]\nname = \"ada\"\n[[host.worker]]\nname = \"bob\"\n";
  const auto run = launch(here, endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  run->signal(SIGINT);
  ends_clean(*run, 75);
  const auto again = launch(here, {"--run-dir", "run", "--resume", "--set", "train.epochs=1000000", "--set",
                                   "train.rounds=100000", "--set", "train.seconds=1"});
  EXPECT_TRUE(eventually([&] { return again->says("resuming from run/checkpoints/"); }));
  again->signal(SIGINT);
  EXPECT_TRUE(again->code().has_value());
  EXPECT_TRUE(eventually([&] { return again->living().empty(); }));
  EXPECT_THAT(text_of(path("run/log/scheduler.log")), HasSubstr("resuming"));
}

class LaunchNamespaces : public LaunchTest {
 protected:
  static std::string three_hosts() {
    return "[[host]]\nname = \"hub\"\nnetns = \"" + Namespaces::name(1) +
           "\"\naddress = \"10.77.2.1\"\nscheduler = true\n[[host]]\nname = \"left\"\nnetns = \"" +
           Namespaces::name(2) +
           "\"\naddress = \"10.77.2.2\"\nservers = 1\n[[host.worker]]\nname = \"ada\"\n" +
           "[[host]]\nname = \"right\"\nnetns = \"" + Namespaces::name(3) +
           "\"\naddress = \"10.77.3.2\"\nservers = 1\n[[host.worker]]\nname = \"bob\"\nsimulate_slowdown = "
           "2\n";
  }
};

TEST_F(LaunchNamespaces, ThreeHostsTrainOneModel) {
  const Namespaces made;
  if (!made.ready()) GTEST_SKIP() << no_namespaces;
  const auto run = launch(three_hosts(), {"--run-dir", "run"});  // with keys
  ends_clean(*run, 0);
  EXPECT_THAT(run->output(), AllOf(HasSubstr("server 'server-0' joined at tcp://10.77.2.2:"),
                                   HasSubstr("server 'server-1' joined at tcp://10.77.3.2:")));
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(LaunchNamespaces, CtrlCAndKillReachAllHosts) {
  const Namespaces made;
  if (!made.ready()) GTEST_SKIP() << no_namespaces;
  for (const int signal : {SIGINT, SIGKILL}) {
    fs::remove_all(path("run"));
    std::vector<std::string> more = endless();
    more.emplace_back("--insecure");
    const auto run = launch(three_hosts(), more);
    ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
    run->signal(signal);
    EXPECT_EQ(run->code(), signal == SIGKILL ? -SIGKILL : 75);
    EXPECT_TRUE(eventually([&] { return run->living().empty(); })) << "processes are left behind";
    EXPECT_TRUE(fs::exists(path("run/result.json")));
  }
}

TEST_F(LaunchNamespaces, MissingNamespacesAreRefused) {
  const auto missing = launch(three_hosts(), {"--insecure"});
  ends_clean(*missing, 78);
  EXPECT_TRUE(missing->says("there is no network namespace"));
}

}  // namespace
}  // namespace steelyard::launch_test
