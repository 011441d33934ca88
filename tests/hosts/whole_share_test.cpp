// Batch norm over whole shares, under a policy with fixed shares: training equals one loop that computes each
// of these shares as one micro-batch.
#include <gtest/gtest.h>

#include "tests/support/distance.h"
#include "tests/support/test_cluster.h"
#include "worker/data/data_sets.h"

namespace steelyard::test::whole_share_test {
namespace {

constexpr std::uint64_t rounds = 8;

Job job_of(const std::string& speeds) {
  Job job;
  job.seed = 7;
  job.global_batch = 80;
  job.epochs = 0;
  job.rounds = rounds;
  job.workers = 3;
  job.shards = 2;
  job.optimizer = {nn::Optimizer::Kind::momentum, 0.9, 1e-4};
  job.schedule.base = 0.05;
  job.evaluate_every = 0;
  job.checkpoint_every = 0;
  job.heartbeat = 0.1;
  job.heartbeat_timeout = 60;
  job.statistics = whole_share;
  job.policy = "static";
  job.policy_options = {{"speeds", speeds}};
  return job;
}

TEST(WholeShare, TrainsAsOneLoopOverTheShares) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "oneDNN is not instrumented, and its threads share a cache of primitives";
#endif
  const DataSets data = open_data(
      "synthetic", {{"train", "400"}, {"test", "20"}, {"height", "6"}, {"width", "6"}, {"channels", "2"}});
  nn::Model model({6, 6, 2}, data.train->classes());
  const nn::Conv2d conv{.channels = 8, .kernel = 3, .padding = 1, .bias = false};
  nn::Value x = model.input_value().conv2d("a", conv).batch_norm("an").relu();
  x.conv2d("b", conv).batch_norm("bn").add(x).relu().global_average_pool().linear("c", data.train->classes());
  model.normalize_shares(80);

  Job job = job_of("57 20 3");
  const Snapshot from = fresh(job, model, data);
  const ClusterResult result = run_cluster(job, model, data, {.initial = from});
  ASSERT_EQ(result.stop.outcome, Outcome::finished) << result.stop.text;
  ASSERT_FALSE(result.stored.empty());
  const std::vector<float>& parameters = result.stored.back().parameters;
  EXPECT_LT(distance(parameters, plain_loop(job, model, data, from, rounds, {57, 20, 3}).parameters), 1e-4);
  EXPECT_GT(distance(parameters, plain_loop(job, model, data, from, rounds, {32, 32, 16}).parameters), 1e-3)
      << "other shares have other statistics";
}

}  // namespace
}  // namespace steelyard::test::whole_share_test
