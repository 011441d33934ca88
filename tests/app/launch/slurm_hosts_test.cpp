#include "app/launch/slurm_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/support/complaint.h"

namespace steelyard::slurm_hosts_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

using Variables = std::map<std::string, std::string>;

// Each list of nodes is known by what scontrol shows for it.
Allocation with(const Variables& variables, const std::map<std::string, std::string>& shown = {}) {
  return {[=](const std::string& name) {
            const auto found = variables.find(name);
            return found == variables.end() ? "" : found->second;
          },
          [=](const std::string& nodes) { return shown.at(nodes); }};
}
std::string line_of(const std::string& node, const std::string& address) {
  return "NodeName=" + node + " Arch=x86_64 CPUTot=4 NodeAddr=" + address + " NodeHostName=x Port=6818\n";
}
const std::string three = line_of("n1", "10.0.0.1") + line_of("n2", "10.0.0.2") + line_of("n5", "far");
const Variables usual{{"SLURM_JOB_ID", "41"}, {"SLURM_JOB_NODELIST", "n[1-2,5]"}};

Variables and_also(Variables variables, const Variables& more) {
  for (const auto& [name, value] : more) variables[name] = value;
  return variables;
}
HostsFile hosts_of(const Variables& more) {
  return slurm_hosts(with(and_also(usual, more), {{"n[1-2,5]", three}}));
}
std::vector<std::size_t> workers_on(const HostsFile& hosts) {
  std::vector<std::size_t> counts;
  for (const HostSpec& host : hosts.hosts) counts.push_back(host.workers.size());
  return counts;
}

TEST(SlurmHosts, EachNodeIsAHostReachedBySrun) {
  const HostsFile file = hosts_of({});
  ASSERT_EQ(file.hosts.size(), 3U);
  const HostSpec& first = file.hosts[0];
  EXPECT_TRUE(first.scheduler);
  EXPECT_EQ(first.port, 10041U) << "from the number of the job";
  EXPECT_EQ(first.name, "n1");
  EXPECT_EQ(first.address, "10.0.0.1");
  EXPECT_EQ(first.listen, "10.0.0.1");
  EXPECT_TRUE(first.has_our_files());
  EXPECT_THAT(first.through, AllOf(Contains("srun"), Contains("--nodelist=n1"), Contains("--overlap")));
  EXPECT_EQ(file.hosts[2].address, "far");
  EXPECT_EQ(file.hosts[2].listen, "0.0.0.0") << "sockets cannot be bound to a name";
  EXPECT_FALSE(file.hosts[2].scheduler);
}

TEST(SlurmHosts, ANodeHasOneWorkerUnlessTasksWereRequested) {
  const HostsFile plain = hosts_of({{"SLURM_TASKS_PER_NODE", "4(x3)"}});  // only the number of processors
  EXPECT_THAT(workers_on(plain), ElementsAre(1, 1, 1));
  EXPECT_EQ(plain.hosts[0].workers[0].spec.threads, "auto");
  const HostsFile tasks =
      hosts_of({{"SLURM_NTASKS", "5"}, {"SLURM_TASKS_PER_NODE", "2(x2),1"}, {"SLURM_CPUS_PER_TASK", "3"}});
  EXPECT_THAT(workers_on(tasks), ElementsAre(2, 2, 1));
  EXPECT_EQ(tasks.hosts[2].workers[0].spec.name, "worker-4");
  EXPECT_EQ(tasks.hosts[2].workers[0].spec.threads, "3");
  EXPECT_EQ(tasks.hosts[2].workers[0].spec.device, WorkerSpec().device);
}

TEST(SlurmHosts, ANodeHasAWorkerForEachGpu) {
  for (const char* gpus : {"2", "a100:2"}) {
    const HostsFile file = hosts_of({{"SLURM_GPUS_PER_NODE", gpus}});
    EXPECT_THAT(workers_on(file), ElementsAre(2, 2, 2)) << gpus;
    EXPECT_EQ(file.hosts[1].workers[1].spec.device, "cuda:1");
  }
}

// The names of the variables are those of Slurm 20.02 and newer, then those before.
TEST(SlurmHosts, GroupsOfAHeterogeneousJobFollowOneAnother) {
  for (const auto& [upper, lower] : {std::pair("HET", "het"), std::pair("PACK", "pack")}) {
    const std::string kind = upper, group = "_" + kind + "_GROUP_";
    const Variables variables{{"SLURM_JOB_ID", "7"},
                              {"SLURM_" + kind + "_SIZE", "2"},
                              {"SLURM_JOB_NODELIST" + group + "0", "n1"},
                              {"SLURM_JOB_NODELIST" + group + "1", "n[1-2]"},
                              {"SLURM_NTASKS" + group + "1", "4"},
                              {"SLURM_TASKS_PER_NODE" + group + "1", "2(x2)"}};
    const HostsFile file =
        slurm_hosts(with(variables, {{"n1", line_of("n1", "10.0.0.1")},
                                     {"n[1-2]", line_of("n1", "10.0.0.1") + line_of("n2", "10.0.0.2")}}));
    EXPECT_THAT(workers_on(file), ElementsAre(1, 2, 2));
    EXPECT_THAT(file.hosts[2].through,
                AllOf(Contains(std::string("--") + lower + "-group=1"), Contains("--nodelist=n2")));
    EXPECT_NE(file.hosts[0].name, file.hosts[1].name) << "a node of both groups";
    EXPECT_EQ(file.hosts[2].workers[1].spec.name, "worker-4");
  }
}

TEST(SlurmHosts, ServersAreDistributedFromTheFirstNode) {
  HostsFile file = hosts_of({});
  place_servers(file, 4, 2);
  EXPECT_EQ(file.hosts[0].servers, 2U);
  EXPECT_EQ(file.hosts[1].servers, 1U);
  EXPECT_EQ(file.hosts[2].servers, 1U);
  EXPECT_EQ(file.shards(), 8U);
}

TEST(SlurmHosts, OutsideOfAnAllocationTheRemedyIsNamed) {
  EXPECT_THAT(complaint_of([] { (void)slurm_hosts(with({})); }),
              AllOf(HasSubstr("SLURM_JOB_NODELIST is not set"), HasSubstr("sbatch"), HasSubstr("salloc")));
  EXPECT_THAT(complaint_of([] {
                (void)hosts_of({{"SLURM_STEP_NUM_TASKS", "3"}});
              }),
              AllOf(HasSubstr("3 times"), HasSubstr("start it once")));
  EXPECT_THAT(complaint_of([] {
                (void)slurm_hosts(with(usual, {{"n[1-2,5]", "Node n1 not found\n"}}));
              }),
              HasSubstr("scontrol -o show node n[1-2,5]"));
}

TEST(SlurmHosts, AFailingScontrolIsReportedWithItsOutput) {
  EXPECT_THAT(complaint_of([] { (void)this_allocation().show_nodes("no-such-node"); }),
              AllOf(HasSubstr("scontrol -o show node no-such-node"), HasSubstr("check that it works here")));
}

}  // namespace
}  // namespace steelyard::slurm_hosts_test
