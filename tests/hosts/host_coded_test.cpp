// Coded pushes and pulls while workers are lost, disconnected and added: all compute from the same
// parameters, every position counts once, and a piece is pushed with the same bytes by every worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/hosts/whole_jobs.h"

namespace steelyard::test::coded_test {
namespace {

using ::testing::IsEmpty;

// Kills and adds workers, and breaks connections.
void disturb(World& world, int& newcomers, Random& random) {
  world.on_delivery = [&world, &newcomers, &random](const Envelope& envelope) {
    if (newcomers < 4 && random.uniform() < 0.004) {
      const NodeId victim = world.workers()[random.below(world.workers().size())];
      world.add_worker("newcomer-" + std::to_string(newcomers++));
      if (world.alive(victim)) world.kill(victim);
    }
    if (random.uniform() < 0.006)
      world.break_connection(world.workers()[random.below(world.workers().size())],
                             world.shards()[random.below(2)]);
    return world.alive(envelope.to);
  };
}

class CodedPulls : public ::testing::TestWithParam<const char*> {};

// Servers keep exact parameters; workers receive rounded ones, which are the same for all workers.
TEST_P(CodedPulls, AreTheSameForAllWorkers) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Job job = job_for(GetParam(), 150, 24, 2);
    job.pull_encoding = seed % 2 == 0 ? FloatCode::int4 : FloatCode::int8;
    World::Options options;
    options.seed = seed;
    World world(job, options);
    world.populate(3, 2);
    Random random(seed);
    int newcomers = 0;
    disturb(world, newcomers, random);
    world.run();
    expect_whole(world, job, "seed " + std::to_string(seed));
  }
}

INSTANTIATE_TEST_SUITE_P(All, CodedPulls, ::testing::Values("bsp", "local:3", "oneshot:epoch", "diloco:4"),
                         plain);

class CodedPushes : public ::testing::TestWithParam<const char*> {};

TEST_P(CodedPushes, CountEveryPosition) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Job job = job_for(GetParam(), 150, 24, 2);
    job.push_encoding = job.pull_encoding = FloatCode::int4;
    World::Options options;
    options.seed = seed;
    World world(job, options);
    world.populate(3, 2);
    Random random(seed);
    int newcomers = 0;
    disturb(world, newcomers, random);
    world.run();
    ASSERT_THAT(world.violations(), IsEmpty()) << "seed " << seed;
    ASSERT_TRUE(world.scheduler().finished()) << world.describe();
    EXPECT_EQ(world.scheduler().cursor().epoch(), job.epochs);
    // Bounds the error: rounding of sums of up to 24 gradients of at most 8 to four bits, over some rounds.
    const std::vector<float>& right = world.expected(world.scheduler().cursor().round());
    for (std::size_t i = 0; i < right.size(); ++i) EXPECT_NEAR(world.parameters()[i], right[i], 6);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CodedPushes, ::testing::Values("bsp", "local:3", "oneshot:epoch", "diloco:4"),
                         plain);

// Pieces are reissued whole, so a lost worker changes no bit of the result.
TEST(CodedPushes, ALostWorkerChangesNoBit) {
  Job job = job_for("local:1", 24, 24, 1);
  job.push_encoding = FloatCode::int4;
  job.sum_order = SumOrder::positions;
  World quiet(job, {});
  quiet.populate(3, 2);
  quiet.run();
  const std::vector<float> right = quiet.parameters();
  EXPECT_NE(right, quiet.expected(1)) << "rounding must have an effect";
  for (std::uint64_t at = 0; at < quiet.delivered(); ++at) {
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
}  // namespace steelyard::test::coded_test
