// With sums in the order of positions and grains, parameters are the same bit for bit for every division of
// rounds, every number of nodes and after losses.
#include <gtest/gtest.h>

#include <bit>

#include "nn/models.h"
#include "tests/hosts/whole_jobs.h"
#include "tests/support/test_cluster.h"
#include "worker/data/data_sets.h"

namespace steelyard::test::reproducible_test {
namespace {

DataSets data() {
  static const DataSets sets =
      open_data("synthetic", {{"train", "300"}, {"test", "60"}, {"height", "28"}, {"width", "28"}});
  return sets;
}

// 300 samples in rounds of 128: the last round of an epoch, and its last grain, are shorter.
Job reproducible_job(std::uint32_t workers, std::uint32_t shards) {
  Job job;
  job.seed = 7;
  job.model = "lenet5";
  job.global_batch = 128;
  job.grain = 32;
  job.sum_order = SumOrder::positions;
  job.epochs = 3;
  job.workers = workers;
  job.shards = shards;
  job.optimizer = {nn::Optimizer::Kind::momentum, 0.9, 1e-4};
  job.schedule.base = 0.05;
  job.evaluate_every = 0;
  job.checkpoint_every = 0;
  job.heartbeat = 0.1;
  job.heartbeat_timeout = 60;
  return job;
}

std::vector<std::uint32_t> bits(const std::vector<float>& values) {
  std::vector<std::uint32_t> all;
  for (const float value : values) all.push_back(std::bit_cast<std::uint32_t>(value));
  return all;
}

std::vector<std::uint32_t> trained(Job job, Transport transport, std::uint64_t policy_seed) {
  const nn::Model model = nn::make_model(job.model, {data().train->shape(), data().train->classes(), {}});
  const Snapshot initial = fresh(job, model, data());
  const ClusterResult result = run_cluster(job, model, data(), {transport, initial, {}, policy_seed});
  EXPECT_EQ(result.stop.outcome, Outcome::finished) << result.stop.text;
  return result.stored.empty() ? std::vector<std::uint32_t>() : bits(result.stored.back().parameters);
}

TEST(Reproducible, HasTheSameBitsForEveryDivisionAndTransport) {
  const std::vector<std::uint32_t> right = trained(reproducible_job(1, 1), Transport::local, 1);
  ASSERT_FALSE(right.empty());
  for (std::uint32_t workers = 1; workers <= 4; ++workers) {
    for (const Transport transport : transports()) {
      const std::uint32_t shards = 1 + workers % 3;
      EXPECT_TRUE(trained(reproducible_job(workers, shards), transport, 17 * workers) == right)
          << workers << " workers, " << shards << " shards, over " << name(transport);
    }
  }
}

// Shows that the test above can fail: without grains, other pieces give other sums.
TEST(Reproducible, RequiresGrains) {
  Job one = reproducible_job(1, 1), three = reproducible_job(3, 1);
  one.grain = three.grain = 1;
  EXPECT_FALSE(trained(one, Transport::local, 1) == trained(three, Transport::local, 51));
}

// Stochastic rounding is keyed by round and positions of a piece, so other pieces would give other bits.
TEST(Reproducible, ALostWorkerChangesNoBit) {
  Job job = job_for("bsp", 48, 24, 1);
  job.grain = 4;
  job.sum_order = SumOrder::positions;
  job.push_encoding = FloatCode::int4;
  World quiet(job, {});
  quiet.populate(3, 2);
  quiet.run();
  const std::vector<float> right = quiet.parameters();
  for (std::uint64_t at = 0; at < quiet.delivered(); at += 3) {
    World::Options options;
    options.faults = {kill_at(at, worker_number(at % 3))};
    World world(job, options);
    world.populate(3, 2);
    world.on_kill = [&](NodeId) { world.add_worker("late"); };
    world.run();
    ASSERT_TRUE(world.scheduler().finished()) << world.describe();
    EXPECT_EQ(world.parameters(), right) << "killed at message " << at;
  }
}

}  // namespace
}  // namespace steelyard::test::reproducible_test
