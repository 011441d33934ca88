// servers = "workers" in [cluster].
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "core/error.h"

namespace steelyard::hosting_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string job_with(const std::string& cluster, const std::string& workers) {
  return "[model]\nname = \"softmax\"\n[data]\nname = \"synthetic\"\n[cluster]\n" + cluster + workers;
}
const std::string on_gpus = "[[worker]]\nname = \"ada\"\ndevice = \"cuda:0-1\"\n[[worker]]\nname = \"bob\"\n";

WorkerSpec on_first_gpu() {
  WorkerSpec worker;
  worker.name = "ada";
  worker.device = "cuda:0";
  return worker;
}

std::string refusal(const std::string& text, const ClusterSpec* cluster = nullptr) {
  try {
    parse_job(text, "j.toml", {}, cluster);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(HostedShards, EachWorkerWithAGpuIsAServer) {
  const JobFile file =
      parse_job(job_with("servers = \"workers\"\nshards_per_server = 3\n", on_gpus), "j.toml");
  EXPECT_EQ(file.servers, 2U);
  EXPECT_EQ(file.shards_per_worker, 3U);
  EXPECT_EQ(file.job.shards, 6U);
  EXPECT_EQ(file.job.workers, 3U);
  EXPECT_THAT(file.resolved, HasSubstr("servers = \"workers\""));
  EXPECT_EQ(parse_job(file.resolved, "again").resolved, file.resolved);
  const JobFile usual = parse_job(job_with("servers = 2\n", on_gpus), "j.toml");
  EXPECT_EQ(usual.shards_per_worker, 0U);
  EXPECT_THAT(usual.resolved, HasSubstr("servers = 2\n"));
}

TEST(HostedShards, AreRefusedWithARemedy) {
  EXPECT_THAT(refusal(job_with("servers = \"workers\"\n", "[[worker]]\n")),
              HasSubstr("give a [[worker]] device = \"cuda:0\""));
  EXPECT_THAT(refusal(job_with("servers = \"workers\"\n", "[[worker]]\ndevice = \"auto\"\n")),
              HasSubstr("this job has no GPU worker"));
  EXPECT_THAT(refusal(job_with("servers = \"workers\"\nreplicas = 1\n", on_gpus)),
              HasSubstr("shards on GPUs have no mirrors"));
  EXPECT_THAT(refusal(job_with("servers = \"all\"\n", on_gpus)),
              HasSubstr("a number from 1 to 1024, or \"workers\""));
  WorkerSpec processor;
  processor.name = "bob";
  const ClusterSpec allocation{0, {processor}};
  EXPECT_THAT(refusal(job_with("servers = \"workers\"\n", on_gpus), &allocation),
              AllOf(HasSubstr("this job has no GPU worker"), HasSubstr("--gpus-per-node")));
}

// Of hosts without servers, as in an allocation.
TEST(HostedShards, WorkersOfHostsAreServersIfNoHostHasOne) {
  const ClusterSpec hosts{0, {on_first_gpu()}};
  const JobFile file =
      parse_job(job_with("servers = \"workers\"\nshards_per_server = 2\n", on_gpus), "j.toml", {}, &hosts);
  EXPECT_EQ(file.servers, 1U);
  EXPECT_EQ(file.shards_per_worker, 2U);
  EXPECT_EQ(file.job.shards, 2U);
  EXPECT_THAT(file.resolved, HasSubstr("servers = \"workers\""));
  EXPECT_EQ(parse_job(file.resolved, "again").resolved, file.resolved) << "the scheduler reads it";
}

// The servers of a hosts file replace those of the job.
TEST(HostedShards, AHostsFileHasItsOwnServers) {
  const ClusterSpec hosts{2, {on_first_gpu()}};
  const JobFile file = parse_job(job_with("servers = \"workers\"\n", on_gpus), "j.toml", {}, &hosts);
  EXPECT_EQ(file.servers, 2U);
  EXPECT_EQ(file.shards_per_worker, 0U);
  EXPECT_THAT(file.resolved, HasSubstr("servers = 2\n"));
}

// A worker without a GPU trains alone with a server of its own.
TEST(HostedShards, OneWorkerAloneHasAServer) {
  const std::string text = parse_job(job_with("servers = \"workers\"\n", on_gpus), "j.toml").resolved;
  EXPECT_EQ(parse_job(job_alone(text, "bob"), "alone").servers, 1U);
  EXPECT_EQ(parse_job(job_alone(text, "bob"), "alone").shards_per_worker, 0U);
  EXPECT_EQ(parse_job(job_alone(text, "ada-1"), "alone").shards_per_worker, 1U);
}

}  // namespace
}  // namespace steelyard::hosting_test
