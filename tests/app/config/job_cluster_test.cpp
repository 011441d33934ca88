// A job on the servers and workers of a hosts file instead of its own.
#include <gmock/gmock.h>

#include "app/config/job_file.h"
#include "core/error.h"

namespace steelyard::job_cluster_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const std::string job =
    "[job]\nname = \"small\"\n[cluster]\nservers = 5\nshards_per_server = 2\n[[worker]]\nname = \"own\"\n";

ClusterSpec two_and_one() {
  WorkerSpec ada;
  ada.name = "ada";
  ada.simulate_slowdown = "2, 6@10";
  ada.max_batch = 64;
  return {2, {ada}};
}

TEST(JobCluster, AHostsFileReplacesTheJobsCluster) {
  const ClusterSpec cluster = two_and_one();
  const JobFile file = parse_job(job, "j.toml", {}, &cluster);
  EXPECT_EQ(file.job.name, "small");
  EXPECT_EQ(file.servers, 2U);
  EXPECT_EQ(file.job.shards, 2U);
  EXPECT_EQ(file.job.workers, 1U);
  ASSERT_EQ(file.worker_specs.size(), 1U);
  EXPECT_EQ(file.worker_specs[0].simulate_slowdown, "2, 6@10");
}

TEST(JobCluster, TheResolvedTextNeedsNoHostsFile) {
  const ClusterSpec cluster = two_and_one();
  const JobFile file = parse_job(job, "j.toml", {}, &cluster);
  EXPECT_THAT(file.resolved, HasSubstr("name = \"ada\"\nsimulate_slowdown = \"2, 6@10\""));
  EXPECT_THAT(file.resolved, Not(HasSubstr("\"own\"")));
  const JobFile again = parse_job(file.resolved, "resolved");
  EXPECT_EQ(again.resolved, file.resolved);
  EXPECT_EQ(again.job.shards, 2U);
  EXPECT_EQ(again.worker_specs[0].max_batch, 64U);
}

TEST(JobCluster, MistakesInTheJobsClusterAreStillRefused) {
  const ClusterSpec cluster = two_and_one();
  EXPECT_THROW(parse_job(job + "simulate_slowdown = 0\n", "j.toml", {}, &cluster), Failure);
}

}  // namespace
}  // namespace steelyard::job_cluster_test
