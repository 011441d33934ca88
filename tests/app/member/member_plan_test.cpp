// Which processes each task of a job runs.
#include "app/member/member_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard::member_plan_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class MemberPlanTest : public testing::Test {
 protected:
  MemberPlanTest() {
    options_.launch.job_file = folder_.write("job.toml",
                                             "[model]\nname = \"softmax\"\n[data]\nname = \"synthetic\"\n"
                                             "[cluster]\nservers = 2\n[[worker]]\nname = \"ada\"\n"
                                             "simulate_slowdown = 3\n");
    options_.launch.results.directory = "run";
  }
  [[nodiscard]] LaunchPlan plan(const Task& task) const {
    return plan_of_task(options_, task, job_of_tasks(options_, task), place_, "0.0.0.0");
  }
  [[nodiscard]] std::vector<std::string> names(const Task& task) const {
    std::vector<std::string> all;
    for (const LaunchProcess& it : plan(task).processes) all.push_back(it.name);
    return all;
  }

  const TemporaryFolder folder_;
  MemberOptions options_;
  const Meeting::Place place_{"10.0.0.1", "4000", "/meet/keys", "1"};
};

TEST_F(MemberPlanTest, EachTaskIsAWorkerAndTheFirstOnesHaveTheRest) {
  EXPECT_THAT(names({0, 3}), ElementsAre("scheduler", "server-0", "ada"));
  EXPECT_THAT(names({1, 3}), ElementsAre("server-1", "worker-1"));
  EXPECT_THAT(names({2, 3}), ElementsAre("worker-2"));
  EXPECT_THAT(names({0, 1}), ElementsAre("scheduler", "server-0", "server-1", "ada"))
      << "a lone task has all servers";
}

TEST_F(MemberPlanTest, AllServersAreInSomeTask) {
  for (std::uint32_t size = 1; size < 7; ++size) {
    for (std::uint32_t servers = 1; servers < 9; ++servers) {
      std::uint32_t all = 0, schedulers = 0;
      for (std::uint32_t rank = 0; rank < size; ++rank) {
        const TaskRoles roles = roles_of({rank, size}, servers, {});
        all += roles.servers;
        schedulers += roles.scheduler ? 1 : 0;
        EXPECT_TRUE(roles.worker);
      }
      EXPECT_EQ(all, servers) << size;
      EXPECT_EQ(schedulers, 1U);
    }
  }
}

TEST_F(MemberPlanTest, AllTasksConnectToTheScheduler) {
  const LaunchPlan first = plan({0, 2}), second = plan({1, 2});
  EXPECT_THAT(first.processes[0].arguments, AllOf(Contains("0.0.0.0:4000"), Not(Contains("--wait"))));
  EXPECT_THAT(first.processes[0].input, HasSubstr("worker-1")) << "the scheduler knows all workers";
  EXPECT_THAT(second.processes[1].arguments, AllOf(Contains("10.0.0.1:4000"), Contains("--wait")));
  EXPECT_EQ(first.tasks, 2U);
  EXPECT_TRUE(first.leads());
  EXPECT_FALSE(second.leads());
}

TEST_F(MemberPlanTest, TheJobDescribesItsFirstWorkers) {
  EXPECT_THAT(plan({0, 2}).processes.back().arguments, Contains("3"));
  EXPECT_THAT(plan({1, 2}).processes.back().arguments, Not(Contains("--simulate-slowdown")));
  options_.launch.overrides = {"worker.ada.simulate_slowdown=7"};
  EXPECT_THAT(plan({0, 2}).processes.back().arguments, Contains("7"));
  const JobOfTasks job = job_of_tasks(options_, {0, 4});
  EXPECT_EQ(job.job.job.workers, 4U);
  EXPECT_EQ(job.job.job.shards, 2U);
}

TEST_F(MemberPlanTest, UnequalGroupsHaveTheirRoles) {
  options_.workers = 2;
  options_.roles = {"scheduler", "server"};
  EXPECT_THAT(names({0, 4}), ElementsAre("scheduler", "server-0"));
  EXPECT_EQ(job_of_tasks(options_, {0, 4}).job.job.workers, 2U);
  options_.roles = {"server"};
  EXPECT_THAT(names({1, 4}), ElementsAre("server-1"));
  options_.roles = {"worker"};
  EXPECT_THAT(names({3, 4}), ElementsAre("worker-3"));
  options_.roles = {"boss"};
  EXPECT_THAT(complaint_of([&] { (void)plan({3, 4}); }), AllOf(HasSubstr("boss"), HasSubstr("worker")));
}

TEST_F(MemberPlanTest, AMirrorIsInAnotherTaskThanItsShard) {
  options_.launch.overrides = {"cluster.replicas=1"};
  EXPECT_THAT(plan({0, 2}).processes[1].arguments, Contains("--mirrors"));
  EXPECT_THAT(complaint_of([&] { (void)plan({0, 1}); }), AllOf(HasSubstr("mirror"), HasSubstr("tasks")));
}

class HostingMember : public MemberPlanTest {
 protected:
  HostingMember() {
    options_.launch.job_file = folder_.write("job.toml",
                                             "[model]\nname = \"softmax\"\n[data]\nname = \"synthetic\"\n"
                                             "[cluster]\nservers = \"workers\"\n[[worker]]\nname = \"ada\"\n"
                                             "[[worker]]\ndevice = \"cuda:0\"\n[[worker]]\n");
  }
  [[nodiscard]] bool keeps_shards(const Task& task) const {
    return has_shards(options_, task, job_of_tasks(options_, task));
  }
};

TEST_F(HostingMember, TasksWithAGpuAreTheServers) {
  for (const std::uint32_t size : {2U, 3U, 5U}) {
    EXPECT_THAT(names({0, size}), ElementsAre("scheduler", "ada"));
    EXPECT_FALSE(keeps_shards({0, size}));
    const LaunchPlan it = plan({1, size});
    ASSERT_THAT(names({1, size}), ElementsAre("worker-1"));
    EXPECT_THAT(it.processes[0].arguments, AllOf(Contains("--shards"), Contains("--listen")));
    EXPECT_TRUE(it.processes[0].hosts_shards);
    EXPECT_TRUE(keeps_shards({1, size}));
    EXPECT_EQ(job_of_tasks(options_, {1, size}).job.job.shards, 1U);
  }
  EXPECT_THAT(complaint_of([&] { (void)plan({0, 1}); }), HasSubstr("no GPU worker"));
}

TEST_F(HostingMember, UnequalGroupsNeedDescribedWorkers) {
  options_.workers = 3;
  options_.roles = {"worker"};
  EXPECT_TRUE(plan({1, 4}).processes[0].hosts_shards);
  EXPECT_THAT(complaint_of([&] { (void)plan({3, 4}); }), HasSubstr("\"worker-3\""));
  options_.roles = {"scheduler", "server"};
  EXPECT_THAT(complaint_of([&] { (void)plan({3, 4}); }), HasSubstr("--role server"));
}

TEST_F(MemberPlanTest, AScriptHasOneServerByDefault) {
  options_.launch.script = ScriptOptions{"train.py", {}, 1, ""};
  EXPECT_THAT(names({0, 2}), ElementsAre("scheduler", "server-0", "worker-0"));
  const LaunchPlan it = plan({1, 2});
  ASSERT_THAT(names({1, 2}), ElementsAre("worker-1"));
  EXPECT_THAT(it.processes[0].environment,
              AllOf(Contains("STEELYARD=10.0.0.1:4000"), Contains("STEELYARD_NAME=worker-1")));
}

TEST_F(MemberPlanTest, PartOfTheGraceRemainsToKill) {
  EXPECT_EQ(time_to_end(30), from_seconds(24));
  EXPECT_EQ(time_to_end(4), from_seconds(2));
}

}  // namespace
}  // namespace steelyard::member_plan_test
