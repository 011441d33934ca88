// With sums in the order of positions and grains, parameters are the same bit for bit for every division of
// rounds, every number of nodes and after losses.
#include <gtest/gtest.h>

#include <bit>
#include <memory>

#include "core/random.h"
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

// Sample i is 8 random numbers, with two targets that follow from them.
class Numbers final : public DataSet {
 public:
  explicit Numbers(std::uint64_t samples) : samples_(samples) {}
  [[nodiscard]] std::uint64_t size() const override { return samples_; }
  [[nodiscard]] nn::Shape shape() const override { return {1, 1, 8}; }
  [[nodiscard]] std::uint32_t classes() const override { return 2; }
  [[nodiscard]] std::uint32_t targets() const override { return 2; }
  void read(std::uint64_t index, float* into, std::uint32_t* /*labels*/) const override {
    Random random(index);
    for (std::size_t i = 0; i < 8; ++i) into[i] = static_cast<float>(random.normal());
  }
  void read_targets(std::uint64_t index, float* into) const override {
    std::vector<float> values(8);
    read(index, values.data(), nullptr);
    into[0] = values[0] - 2 * values[1];
    into[1] = values[2] * values[3];
  }

 private:
  const std::uint64_t samples_;
};

std::vector<std::uint32_t> trained(Job job, Transport transport, std::uint64_t policy_seed,
                                   const DataSets& sets = data()) {
  const nn::Model model =
      nn::make_model(job.model, {sets.train->shape(), sets.train->classes(), job.model_options});
  const Snapshot initial = fresh(job, model, sets);
  const ClusterResult result = run_cluster(job, model, sets, {transport, initial, {}, policy_seed});
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

// A mean over samples is exact for shares of any size, for losses of numbers too.
TEST(Reproducible, HasTheSameBitsForLossesOfTargets) {
  const DataSets sets{std::make_shared<Numbers>(300), std::make_shared<Numbers>(60), "numbers"};
  for (const char* loss : {"mse", "mae"}) {
    const auto job = [&](std::uint32_t workers) {
      Job it = reproducible_job(workers, 1);
      it.model = "mlp";
      it.model_options = {{"hidden", "[16]"}, {"loss", loss}};
      return it;
    };
    const std::vector<std::uint32_t> right = trained(job(1), Transport::local, 1, sets);
    ASSERT_FALSE(right.empty());
    for (const std::uint32_t workers : {2U, 3U})
      EXPECT_TRUE(trained(job(workers), Transport::local, 17 * workers, sets) == right)
          << loss << ", " << workers << " workers";
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
