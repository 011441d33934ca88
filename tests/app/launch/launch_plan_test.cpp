#include "app/launch/launch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::plan_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

constexpr const char* job_text = R"(
[job]
name = "small"
[data]
name = "synthetic"
[cluster]
servers = 5
[[worker]]
name = "forgotten"
)";

constexpr const char* hosts_text = R"(
[[host]]
name = "lion"
ssh = "ann@lion"
address = "10.0.0.1"
directory = "it's a job"
scheduler = true
servers = 1
[[host]]
name = "left"
netns = "left-net"
address = "10.0.0.2"
servers = 1
shards = 2
[[host.worker]]
name = "ada"
simulate_slowdown = 2.5
max_batch = 64
data = { dir = "/a b" }
[[host]]
name = "here"
address = "box"
[[host.worker]]
name = "bob"
)";

class LaunchPlanTest : public testing::Test {
 protected:
  LaunchPlanTest() {
    options_.hosts_file = "hosts.toml";
    options_.job_file = folder_.write("job.toml", std::string_view(job_text)).string();
    options_.insecure = true;
  }
  [[nodiscard]] JobFile job() const { return job_for_hosts(options_, hosts_); }
  [[nodiscard]] LaunchPlan plan() const {
    return make_launch_plan(options_, hosts_, job(), "/bin/steelyard");
  }

  const TemporaryFolder folder_;
  LaunchOptions options_;
  HostsFile hosts_ = parse_hosts(hosts_text, "hosts.toml");
};

const LaunchHost& host_of(const LaunchPlan& plan, const std::string& name) {
  return *std::ranges::find_if(plan.hosts, [&](const LaunchHost& it) { return it.spec.name == name; });
}
std::string joined(const LaunchProcess& process) { return shell_line(process.arguments); }

TEST_F(LaunchPlanTest, TheJobGetsTheHostsWorkersAndServers) {
  const JobFile file = job();
  EXPECT_EQ(file.job.name, "small");
  EXPECT_EQ(file.job.shards, 3U);
  EXPECT_EQ(file.job.workers, 2U);
  ASSERT_EQ(file.worker_specs.size(), 2U);
  EXPECT_EQ(file.worker_specs[0].name, "ada");
  EXPECT_EQ(file.worker_specs[0].simulate_slowdown, "2.5");
  EXPECT_THAT(file.resolved, Not(HasSubstr("forgotten")));
  EXPECT_EQ(parse_job(file.resolved, "resolved").resolved, file.resolved);
}

TEST_F(LaunchPlanTest, WorkersOfAHostGetCoresOfTheirOwnUnlessTheJobForbidsIt) {
  hosts_.hosts.back().workers.push_back(hosts_.hosts.back().workers.front());
  hosts_.hosts.back().workers.back().spec.name = "cid";
  const auto cores_of = [&](const std::string& name) {
    const LaunchPlan it = plan();
    return std::ranges::find(it.processes, name, &LaunchProcess::name)->cores;
  };
  EXPECT_EQ(cores_of("bob").of, 2U);
  EXPECT_EQ(cores_of("bob").begin, 0U);
  EXPECT_EQ(cores_of("cid").begin, 1U);
  EXPECT_EQ(cores_of("ada").of, 0U) << "alone on its host";
  EXPECT_EQ(cores_of("server-0").of, 0U);
  options_.overrides = {"cluster.bind_workers=false"};
  EXPECT_EQ(cores_of("bob").of, 0U);
}

TEST_F(LaunchPlanTest, SetChangesTheJobButNotTheCluster) {
  options_.overrides = {"train.lr=0.25"};
  EXPECT_EQ(job().job.schedule.base, 0.25);
  for (const char* setting :
       {"worker.ada.simulate_slowdown=3", "cluster.servers=3", "cluster.shards_per_server=2"}) {
    options_.overrides = {setting};
    try {
      (void)job();
      ADD_FAILURE() << setting;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::usage);
      EXPECT_THAT(failure.what(), HasSubstr("hosts.toml: change them there")) << setting;
    }
  }
}

TEST_F(LaunchPlanTest, EveryRoleIsStartedOnItsHost) {
  const LaunchPlan it = plan();
  ASSERT_EQ(it.processes.size(), 5U);
  EXPECT_EQ(it.roles_on("lion"), "scheduler, server-0");
  EXPECT_EQ(it.roles_on("left"), "server-1, ada");
  EXPECT_EQ(it.roles_on("here"), "bob");
  EXPECT_EQ(joined(it.processes[0]), "scheduler /dev/stdin --listen 10.0.0.1:7070 --insecure");
  EXPECT_EQ(it.processes[0].input, job().resolved);
  EXPECT_EQ(joined(it.processes[2]),
            "server --scheduler 10.0.0.1:7070 --name server-1 --listen '10.0.0.2:*' --advertise 10.0.0.2 "
            "--shards 2 --quiet --insecure");
  EXPECT_EQ(
      joined(it.processes[3]),
      "worker --scheduler 10.0.0.1:7070 --name ada --simulate-slowdown 2.5 --max-batch 64 --quiet --data "
      "'dir=/a b'");
  EXPECT_EQ(it.processes[3].input, "");
}

TEST_F(LaunchPlanTest, ServersAndWorkersGetTheExchangeOption) {
  options_.exchange = "sockets";
  const LaunchPlan it = plan();
  for (const LaunchProcess& process : it.processes)
    EXPECT_EQ(joined(process).find("--exchange sockets") != std::string::npos,
              process.role != Role::scheduler);
}

// Each other worker that may use a GPU needs a core to feed it; explicit thread counts stay.
TEST_F(LaunchPlanTest, AutoThreadsLeaveCoresForGpus) {
  hosts_ = parse_hosts(R"([[host]]
scheduler = true
servers = 1
address = "box"
[[host.worker]]
name = "all"
threads = "auto"
[[host.worker]]
name = "two"
threads = 2
[[host.worker]]
name = "card"
device = "cuda:0-1"
[[host.worker]]
name = "any"
device = "auto"
threads = "auto"
[[host]]
address = "other"
ssh = "other"
[[host.worker]]
name = "alone"
threads = "auto"
)",
                       "hosts.toml");
  const LaunchPlan it = plan();
  const auto words = [&](const std::string& name) {
    return joined(*std::ranges::find(it.processes, name, &LaunchProcess::name));
  };
  EXPECT_THAT(words("all"), HasSubstr("--threads auto-7")) << "three for each GPU, one for \"any\"";
  EXPECT_THAT(words("two"), HasSubstr("--threads 2"));
  EXPECT_THAT(words("any"), HasSubstr("--device auto --threads auto-6")) << "it does not count itself";
  EXPECT_THAT(words("alone"), HasSubstr("--threads auto ")) << "the GPUs are elsewhere";
  EXPECT_THAT(words("card-1"), HasSubstr("--device cuda:1"));
}

TEST_F(LaunchPlanTest, HostsAreReachedBySshNamespaceOrDirectly) {
  const LaunchPlan it = plan();
  EXPECT_THAT(host_of(it, "lion").command, IsSupersetOf({"ssh", "BatchMode=yes", "ann@lion"}));
  EXPECT_THAT(host_of(it, "lion").command.back(), EndsWith(R"(steelyard attend --directory 'it'\''s a job')"))
      << "one argument for the remote shell";
  EXPECT_THAT(host_of(it, "left").command,
              ElementsAre("ip", "netns", "exec", "left-net", "/bin/steelyard", "attend"));
  EXPECT_THAT(host_of(it, "here").command, ElementsAre("/bin/steelyard", "attend"));
}

// A host with the files of this machine works in the same directory, whatever the command does.
TEST_F(LaunchPlanTest, AnyCommandReachesAHost) {
  hosts_ = parse_hosts(R"([defaults]
through = ["srun", "-w", "{name}"]
[[host]]
name = "n1"
scheduler = true
servers = 1
[[host.worker]]
[[host]]
name = "n2"
shared_files = true
directory = "job"
[[host.worker]]
)",
                       "hosts.toml");
  const LaunchPlan it = plan();
  EXPECT_THAT(host_of(it, "n1").command,
              ElementsAre("srun", "-w", "n1", "sh", "-c", HasSubstr("exec \"$0\""), "steelyard", "attend"));
  EXPECT_THAT(host_of(it, "n2").command,
              ElementsAre("srun", "-w", "n2", "/bin/steelyard", "attend", "--directory",
                          (std::filesystem::current_path() / "job").string()));
}

TEST_F(LaunchPlanTest, TheSchedulerGetsTheResultOptions) {
  options_.results = {"/runs/x", true, "/runs/x/checkpoints/7", false, 256, "", true};
  options_.quiet = true;
  EXPECT_THAT(joined(plan().processes[0]),
              HasSubstr("--run-dir /runs/x --resume --resume-from /runs/x/checkpoints/7 "
                        "--run-dir-ready --quiet"));
  options_.results.ready = false;
  EXPECT_THAT(plan().processes[0].arguments, Not(Contains("--run-dir-ready")));
}

TEST_F(LaunchPlanTest, PlainTextBetweenHostsNeedsInsecure) {
  EXPECT_FALSE(plan().keyed);
  options_.insecure = false;
  const LaunchPlan it = plan();
  EXPECT_TRUE(it.keyed);
  for (const LaunchProcess& process : it.processes)
    EXPECT_THAT(process.arguments, Not(Contains("--insecure")));
  EXPECT_THAT(describe_plan(it), HasSubstr("with keys sent over this connection"));
  EXPECT_FALSE(make_launch_plan(options_, this_machine(job()), job(), "/bin/steelyard", "/tmp/s").keyed)
      << "sockets in a directory of this user";
}

// The plan of `train`: the job's own servers and workers, which communicate without ports.
TEST_F(LaunchPlanTest, AJobOnThisMachineIsAPlanWithOneHost) {
  options_.hosts_file.reset();
  const JobFile file =
      parse_job(std::string(job_text) + "simulate_slowdown = 2\nmax_batch = 8\n", "job.toml");
  const LaunchPlan it = make_launch_plan(options_, this_machine(file), file, "/bin/steelyard", "/tmp/s");
  ASSERT_EQ(it.processes.size(), 7U);
  EXPECT_TRUE(it.here);
  EXPECT_EQ(it.roles_on("here"), "scheduler, server-0, server-1, server-2, server-3, server-4, forgotten");
  EXPECT_THAT(joined(it.processes[0]), HasSubstr("scheduler /dev/stdin --listen ipc:///tmp/s/scheduler"));
  EXPECT_EQ(it.processes[0].input, file.resolved);
  EXPECT_THAT(
      joined(it.processes[2]),
      HasSubstr("server --scheduler ipc:///tmp/s/scheduler --name server-1 --listen ipc:///tmp/s/server-1"));
  EXPECT_THAT(joined(it.processes[6]), HasSubstr("--name forgotten --simulate-slowdown 2 --max-batch 8"));
  for (const LaunchProcess& process : it.processes)
    EXPECT_THAT(process.arguments, Not(Contains("--advertise"))) << "no other host connects";
}

// servers = "workers": GPU workers listen for the others, at the address of their host.
TEST_F(LaunchPlanTest, WorkersThatHostShardsListenOnTheirHost) {
  hosts_ = parse_hosts(R"([[host]]
name = "lion"
address = "10.0.0.1"
scheduler = true
[[host.worker]]
name = "ada"
device = "cuda:0-1"
[[host]]
name = "mouse"
ssh = "mouse"
address = "mouse.lab"
[[host.worker]]
name = "bob"
[[host.worker]]
name = "eve"
device = "cuda:0"
)",
                       "hosts.toml");
  EXPECT_THAT(complaint_of([&] { (void)job(); }),
              AllOf(HasSubstr("hosts.toml: no host has a server"), HasSubstr("servers = \"workers\"")));
  options_.overrides = {"cluster.servers=workers", "cluster.shards_per_server=2"};
  EXPECT_EQ(job().job.shards, 6U);
  const LaunchPlan it = plan();
  EXPECT_EQ(it.roles_on("lion"), "scheduler, ada-0, ada-1");
  EXPECT_EQ(it.roles_on("mouse"), "bob, eve");
  const auto named = [&](const std::string& name) {
    return *std::ranges::find(it.processes, name, &LaunchProcess::name);
  };
  EXPECT_EQ(joined(named("ada-1")),
            "worker --scheduler 10.0.0.1:7070 --name ada-1 --device cuda:1 --quiet --shards 2 --listen "
            "'10.0.0.1:*' --advertise 10.0.0.1 --insecure");
  EXPECT_THAT(joined(named("eve")), HasSubstr("--listen '0.0.0.0:*' --advertise mouse.lab"));
  EXPECT_THAT(joined(named("bob")), Not(HasSubstr("--listen")));
  EXPECT_TRUE(named("eve").hosts_shards);
  EXPECT_FALSE(named("bob").hosts_shards);
}

TEST_F(LaunchPlanTest, ServersHaveAMirrorForEachOfTheirShards) {
  const JobFile file = parse_job("[cluster]\nshards_per_server = 3\nreplicas = 1\n[[worker]]\n", "job.toml");
  const LaunchPlan it = make_launch_plan(options_, this_machine(file), file, "/bin/steelyard", "/tmp/s");
  EXPECT_THAT(joined(it.processes[1]), AllOf(HasSubstr("--shards 3"), HasSubstr("--mirrors 3")));
}

TEST_F(LaunchPlanTest, MirrorsNeedASecondServerProcess) {
  JobFile file = parse_job("[cluster]\nreplicas = 1\n[[worker]]\n", "job.toml");
  HostsFile hosts = this_machine(file);
  hosts.hosts[0].servers = 1;
  hosts.hosts[0].shards = 2;
  EXPECT_THROW((void)make_launch_plan(options_, hosts, file, "/bin/steelyard", "/tmp/s"), Failure);
  hosts.hosts[0].servers = 2;
  EXPECT_NO_THROW((void)make_launch_plan(options_, hosts, file, "/bin/steelyard", "/tmp/s"));
}

TEST_F(LaunchPlanTest, ADryRunShowsTheCommands) {
  const std::string text = describe_plan(plan());
  EXPECT_THAT(text, AllOf(HasSubstr("# host lion: ssh ann@lion"), HasSubstr("ip netns exec left-net"),
                          HasSubstr("\n  /bin/steelyard worker --scheduler 10.0.0.1:7070 --name bob"),
                          HasSubstr("\n  steelyard scheduler /dev/stdin")));
}

TEST_F(LaunchPlanTest, LocalProblemsAreFoundBeforeTheLaunch) {
  LaunchPlan it = plan();
  EXPECT_NO_THROW(require_reachable(host_of(it, "lion")));
  LaunchHost host = host_of(it, "left");
  host.program = "/bin/sh";
  host.spec.netns = "steelyard-no-such-namespace";
  host.reach = reach_of(host.spec);
  try {
    require_reachable(host);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("hosts.toml:11:9: host 'left'"), HasSubstr("ip netns add")));
  }
  host.spec.netns.clear();
  host.spec.through = {"no-such-srun"};
  host.reach = reach_of(host.spec);
  EXPECT_THAT(complaint_of([&] { require_reachable(host); }),
              AllOf(HasSubstr("hosts.toml:11:9"), HasSubstr("no program 'no-such-srun'")));
  host = host_of(it, "here");
  host.program = "/nowhere/steelyard";
  try {
    require_reachable(host);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("host 'here'"), HasSubstr("/nowhere/steelyard")));
  }
}

int exited(int code) { return code << 8; }

// The error names host, roles and remedy in every case.
TEST_F(LaunchPlanTest, UnreachableHostsAreExplained) {
  hosts_ = parse_hosts(
      std::string(hosts_text) + "[[host]]\nname = \"n1\"\nthrough = [\"srun\", \"-w\", \"{name}\"]\n",
      "hosts.toml");
  const LaunchPlan it = plan();
  const struct {
    const char* host;
    int status;
    const char* output;
    ExitCode code;
    const char* part;
  } cases[] = {
      {"lion", exited(255), "Permission denied (publickey).", ExitCode::unreachable,
       "Permission denied (publickey).: make `ssh -o BatchMode=yes ann@lion true` work"},
      {"lion", exited(127), "sh: 1: steelyard: not found", ExitCode::configuration, "there (ssh ann@lion)"},
      {"lion", exited(126), "Permission denied", ExitCode::configuration, "there (ssh ann@lion)"},
      {"lion", exited(2), "unknown subcommand", ExitCode::protocol, "the same release everywhere"},
      {"lion", exited(2), "unknown subcommand", ExitCode::protocol, "steelyard install HOSTS"},
      {"lion", exited(78), "steelyard: there is no directory x", ExitCode::configuration,
       "there is no directory x"},
      {"left", exited(1), "setting the network namespace failed", ExitCode::unreachable,
       "namespaces need root"},
      {"here", exited(127), "", ExitCode::configuration, "no program '/bin/steelyard' there (this machine)"},
      {"n1", exited(2), "execve(): /x/steelyard: No such file or directory", ExitCode::configuration,
       "no program 'steelyard' there (srun -w n1)"},
      {"n1", exited(1), "Invalid job id specified", ExitCode::unreachable,
       "Invalid job id specified: make `srun -w n1 true` work"},
      {"lion", 9, "", ExitCode::configuration, "was killed by signal 9"},
  };
  for (const auto& [host, status, output, code, part] : cases) {
    const Failure failure = unreachable(host_of(it, host), it.roles_on(host), status, output);
    EXPECT_EQ(failure.code(), code) << failure.what();
    const std::string roles = it.roles_on(host);
    const std::string start = "host '" + std::string(host) + "'" + (roles.empty() ? "" : " (" + roles + ")");
    EXPECT_THAT(failure.what(), AllOf(StartsWith(start + ": "), HasSubstr(part)));
  }
}

}  // namespace
}  // namespace steelyard::plan_test
