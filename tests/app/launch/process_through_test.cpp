// `launch` over any command: what it promises over ssh (launch_test.cpp) holds through it.
#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "app/launch/pipes.h"
#include "tests/support/process_run.h"
#include "transport/security/key_files.h"

namespace steelyard::process_through_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class LaunchThrough : public ProcessTest {
 protected:
  // Two hosts: the second has the workers.
  [[nodiscard]] static std::string hosts(const std::string& through,
                                         const std::string& more = "shared_files = true") {
    return "[defaults]\nthrough = " + through + "\n" + more +
           "\n[[host]]\nname = \"lion\"\naddress = \"127.0.0.1\"\nscheduler = true\nport = " + free_port() +
           "\nservers = 1\n[[host]]\nname = \"mouse\"\naddress = \"127.0.0.1\"\nservers = 1\n" +
           "[[host.worker]]\nname = \"ada\"\n[[host.worker]]\nname = \"bob\"\nsimulate_slowdown = 2\n";
  }
  std::unique_ptr<Process> launch(const std::vector<std::string>& arguments,
                                  const std::vector<std::string>& more = {}) {
    std::vector<std::string> all{"launch"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    all.insert(all.end(), more.begin(), more.end());
    return std::make_unique<Process>(directory_ / ("launch-" + std::to_string(++launches_) + ".log"), all,
                                     [this] {
                                       if (chdir(directory_.c_str()) != 0) _exit(125);
                                     });
  }
  std::unique_ptr<Process> launch_through(const std::string& through, const std::vector<std::string>& more) {
    return launch({write("hosts.toml", hosts(through)), job_}, more);
  }
  static std::vector<std::string> endless() { return {"--run-dir", "run", "--set", "train.epochs=1000000"}; }

  int launches_ = 0;
};

constexpr const char* as_words = R"(["env", "WHERE={name}"])";
constexpr const char* as_text = R"(["sh", "-c", "WHERE={name} && export WHERE && exec {command}"])";

// Kills the program when it is asked to end, as srun does.
constexpr const char* as_srun =
    R"(["sh", "-c", "exec 3<&0; trap 'kill -9 $!' TERM; WHERE={name} {command} <&3 & wait $!"])";

class LaunchThroughAny : public LaunchThrough, public testing::WithParamInterface<const char*> {};

TEST_P(LaunchThroughAny, TrainsWithKeysAndOneRunDirectory) {
  const auto run = launch_through(GetParam(), {"--run-dir", "run"});
  ends_clean(*run, 0);
  EXPECT_GT(accuracy("run"), 0.9);
  EXPECT_THAT(text_of(path("run/log/scheduler.log")), HasSubstr("worker 'ada' joined"));
  EXPECT_TRUE(fs::exists(path("run/log/ada.log")));
}

TEST_P(LaunchThroughAny, AKilledWorkerIsRestartedAndCtrlCEndsAll) {
  const auto run = launch_through(GetParam(), endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  const pid_t ada = run->living_with("--name ada");
  ASSERT_NE(ada, 0);
  EXPECT_THAT(text_of("/proc/" + std::to_string(ada) + "/environ"), HasSubstr("WHERE=mouse"))
      << "the placeholder is the host's name";
  kill(ada, SIGKILL);
  EXPECT_TRUE(eventually([&] {
    const pid_t now = run->living_with("--name ada");
    return now != 0 && now != ada;
  }));
  EXPECT_TRUE(run->says("process 'ada' on host 'mouse' was killed by signal 9"));
  run->signal(SIGINT);
  ends_clean(*run, 75);
  EXPECT_TRUE(fs::exists(path("run/result.json")));
}

TEST_P(LaunchThroughAny, AKilledLauncherLeavesNoProcessBehind) {
  const auto run = launch_through(GetParam(), endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  run->signal(SIGKILL);
  EXPECT_EQ(run->code(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return run->living().empty(); })) << "processes are left behind";
  EXPECT_TRUE(fs::exists(path("run/result.json"))) << "the scheduler exited cleanly";
}

INSTANTIATE_TEST_SUITE_P(Commands, LaunchThroughAny, testing::Values(as_words, as_text, as_srun),
                         [](const auto& it) {
                           return it.param == as_words ? "Words" : it.param == as_text ? "Text" : "LikeSrun";
                         });

TEST_F(LaunchThrough, WithoutSharedFilesResultsAreInTheDirectoryThere) {
  fs::create_directories(path("there"));
  const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "steelyard").string();
  const std::string file =
      write("hosts.toml",
            hosts(as_words, "steelyard = \"" + program + "\"\ndirectory = \"" + path("there") + "\""));
  const auto run = launch({file, job_}, {"--run-dir", "run"});
  ends_clean(*run, 0);
  EXPECT_TRUE(fs::exists(path("there/run/result.json")));
  EXPECT_FALSE(fs::exists(path("run")));
  EXPECT_TRUE(fs::exists(path("runs/small-1/log/ada.log"))) << "logs are here";
}

class LaunchFarAway : public LaunchThrough {
 protected:
  // Hosts with a directory of their own, `there`.
  std::string far_hosts() {
    fs::create_directories(path("there"));
    const std::string program = (fs::read_symlink("/proc/self/exe").parent_path() / "steelyard").string();
    return write("hosts.toml",
                 hosts(as_words, "steelyard = \"" + program + "\"\ndirectory = \"" + path("there") + "\""));
  }
  int in_here(const std::vector<std::string>& arguments) {
    return run(arguments, [this] {
      if (chdir(directory_.c_str()) != 0) _exit(125);
    });
  }
};

TEST_F(LaunchFarAway, TheHostOfTheResultsIsNamed) {
  const auto run = launch({far_hosts(), job_}, {"--run-dir", "run"});
  ends_clean(*run, 0);
  const std::string bring = "env WHERE=lion tar -C " + path("there/run");
  EXPECT_THAT(run->output(), AllOf(HasSubstr("the results are on host 'lion' (env WHERE=lion), in " +
                                             path("there/run") + ": bring them with `" + bring),
                                   HasSubstr("| tar -C runs/small-1 -xf -`")));
  for (const char* command : {"report", "status"}) {
    EXPECT_EQ(in_here({command, "runs/small-1"}), 78) << said_;
    EXPECT_THAT(said_, AllOf(HasSubstr("runs/small-1: its results are on host 'lion'"), HasSubstr(bring)));
  }
  EXPECT_EQ(in_here({"runs"}), 0);
  EXPECT_THAT(said_, HasSubstr("runs/small-1: its results are on host 'lion'"));
}

TEST_F(LaunchFarAway, FetchBringsTheResultsToTheRunDirectoryHere) {
  const auto run = launch({far_hosts(), job_}, {"--fetch"});
  ends_clean(*run, 0);
  EXPECT_TRUE(run->says("the results are here now, in runs/small-1"));
  EXPECT_TRUE(fs::exists(path("runs/small-1/result.json")));
  EXPECT_FALSE(fs::is_empty(path("runs/small-1/checkpoints")));
  EXPECT_TRUE(fs::exists(path("runs/small-1/log/ada.log"))) << "the logs are still here";
  EXPECT_FALSE(fs::exists(path("runs/small-1/elsewhere")));
  EXPECT_EQ(in_here({"report", "runs/small-1"}), 0) << said_;
  EXPECT_EQ(in_here({"status", "runs/small-1"}), 0) << said_;
  EXPECT_THAT(said_, HasSubstr("finished"));
  EXPECT_EQ(in_here({"eval", "runs/small-1"}), 0) << said_;
  EXPECT_EQ(in_here({"runs"}), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("runs/small-1"), HasSubstr("finished")));
}

TEST_F(LaunchFarAway, ThePageOfAnotherHostIsNamed) {
  const std::string port = free_port();
  const auto run = launch({far_hosts(), job_}, {"--web", ":" + port});
  ends_clean(*run, 0);
  EXPECT_THAT(run->output(), AllOf(HasSubstr("the page is on host 'lion' alone, at http://127.0.0.1:" + port),
                                   HasSubstr("--web 127.0.0.1:" + port + " opens it")));
}

TEST_F(LaunchThrough, AllHostsThatFailAreReportedAndNoRunIsLeft) {
  const std::string text = hosts(as_words) + "[[host]]\nname = \"bear\"\naddress = \"127.0.0.1\"\n";
  std::string bad = text;
  bad.insert(bad.find("[[host]]\nname = \"mouse\""), "directory = \"nowhere\"\n");
  bad += "directory = \"nirgends\"\n[[host.worker]]\nname = \"eve\"\n";
  const auto run = launch({write("hosts.toml", bad), job_});
  ends_clean(*run, 78);
  EXPECT_THAT(run->output(), AllOf(HasSubstr("host 'lion' (scheduler, server-0): there is no directory"),
                                   HasSubstr("host 'bear' (eve): there is no directory"),
                                   HasSubstr("nirgends"), HasSubstr("create it")));
  EXPECT_TRUE(!fs::exists(path("runs")) || fs::is_empty(path("runs")));
}

// The only place of a secret key is the connection.
TEST_F(LaunchThrough, NoCommandLineOrEnvironmentHasASecretKey) {
  const auto run = launch_through(R"(["sh", "-c", "tee copy-{name} | {command}"])", endless());
  ASSERT_TRUE(eventually([&] { return run->says("checkpoint of round"); }));
  std::vector<std::string> secrets;
  for (const char* host : {"lion", "mouse"}) {
    std::ifstream copy(path("copy-" + std::string(host)));
    for (std::string line; std::getline(copy, line);) {
      const ToHost message = to_host(line).value();
      const auto* const start = std::get_if<StartProcess>(&message);
      if (start != nullptr) secrets.emplace_back(parse_keys(start->keys, line).own.at(0).secret.letters());
    }
  }
  ASSERT_EQ(secrets.size(), 5U) << "of the scheduler, two servers and two workers";
  for (const pid_t process : run->living()) {
    const std::string place = "/proc/" + std::to_string(process);
    for (const std::string& secret : secrets)
      EXPECT_THAT(text_of(place + "/cmdline") + text_of(place + "/environ"), Not(HasSubstr(secret)));
  }
  run->signal(SIGINT);
  ends_clean(*run, 75);
}

TEST_F(LaunchThrough, AMissingCommandIsReportedWithItsPlace) {
  const auto run = launch_through(R"(["no-such-srun"])", {});
  ends_clean(*run, 78);
  EXPECT_THAT(run->output(),
              AllOf(HasSubstr("hosts.toml:2:11: host 'lion': there is no program 'no-such-srun'"),
                    HasSubstr("correct through =")));
  EXPECT_FALSE(fs::exists(path("runs")));
}

TEST_F(LaunchThrough, AFailingCommandIsReportedWithItsOutput) {
  const auto run = launch_through(R"(["sh", "-c", "echo no such node: {name} >&2; exit 3"])", {});
  ends_clean(*run, 69);
  EXPECT_THAT(run->output(), AllOf(HasSubstr("no such node: "), HasSubstr("make `sh -c ")));
}

// Programs in place of Slurm's: the nodes are shown, and srun only runs the words after its options.
class LaunchInSlurm : public LaunchThrough {
 protected:
  void SetUp() override {
    LaunchThrough::SetUp();
    if (IsSkipped()) return;
    fs::create_directories(path("bin"));
    program(
        "scontrol",
        "for node in n1 n2 n3; do echo \"NodeName=$node Arch=x NodeAddr=127.0.0.1 NodeHostName=x\"; done");
    program("srun",
            "echo \"$*\" >> \"$ASKED\"; while [ \"${1#--}\" != \"$1\" ]; do shift; done; exec \"$@\"");
    path_before_ = getenv("PATH");
    setenv("PATH", (path("bin") + ":" + path_before_).c_str(), 1);
    setenv("ASKED", path("asked").c_str(), 1);
    setenv("SLURM_JOB_ID", free_port().c_str(), 1);
    setenv("SLURM_JOB_NODELIST", "n[1-3]", 1);
  }
  void TearDown() override {
    if (!path_before_.empty()) setenv("PATH", path_before_.c_str(), 1);
    for (const char* name : {"ASKED", "SLURM_JOB_ID", "SLURM_JOB_NODELIST"}) unsetenv(name);
    LaunchThrough::TearDown();
  }
  void program(const std::string& name, const std::string& text) const {
    fs::permissions(write("bin/" + name, "#!/bin/sh\n" + text + "\n"), fs::perms::owner_all);
  }

  std::string path_before_;
};

TEST_F(LaunchInSlurm, EveryNodeOfTheAllocationTrains) {
  const auto run = launch({"--hosts", "slurm", job_}, {"--run-dir", "run", "--set", "cluster.servers=2"});
  ends_clean(*run, 0);
  EXPECT_GT(accuracy("run"), 0.9);
  EXPECT_THAT(text_of(path("run/log/scheduler.log")),
              AllOf(HasSubstr("worker 'worker-2' joined"), HasSubstr("server 'server-1' joined")));
  EXPECT_THAT(text_of(path("asked")), AllOf(HasSubstr("--nodelist=n1"), HasSubstr("--nodelist=n3")));
}

TEST_F(LaunchInSlurm, TheOptionMayFollowTheJob) {
  const auto run = launch({job_, "--dry-run", "--hosts", "slurm"});
  ends_clean(*run, 0);
  EXPECT_TRUE(run->says("--nodelist=n2"));
  EXPECT_FALSE(fs::exists(path("asked"))) << "a dry run starts nothing";
}

TEST_F(LaunchInSlurm, HostsComeFromOnePlace) {
  const auto both = launch({"--hosts", "slurm", "hosts.toml", job_});
  ends_clean(*both, 2);
  EXPECT_TRUE(both->says("not both"));
  const auto none = launch({job_});
  ends_clean(*none, 2);
  EXPECT_TRUE(none->says("--hosts slurm job.toml"));
  unsetenv("SLURM_JOB_NODELIST");
  const auto outside = launch({"--hosts", "slurm", job_});
  ends_clean(*outside, 78);
  EXPECT_TRUE(outside->says("start it in a script of sbatch"));
}

}  // namespace
}  // namespace steelyard::process_through_test
