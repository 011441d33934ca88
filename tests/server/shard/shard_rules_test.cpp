// Rounds of a shard with ranges of two rules: `step`, and `mean`, into which workers push weight x change of
// the parameters.
#include <limits>

#include "tests/server/shard/shard_case.h"

namespace steelyard::shard_rules_test {
namespace {

using test::ShardCase;
using test::worker_node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

enum : std::uint32_t { weights = 0, differences = 1 };  // the slices

Job job_of_two_rules(nn::Optimizer::Kind kind) {
  Job job;
  append(job.layout, "weight", {2});
  append(job.layout, "difference", {3}, Rule::mean);
  job.layout.slice_size = 4;
  job.train_samples = 1024;
  job.optimizer = {.kind = kind, .momentum = 0.5, .weight_decay = 0.5};
  job.layout = nn::layout_for(job.optimizer, job.layout);
  job.schedule.base = 0.25;
  return job;
}

Push pushed(const ShardCase& it, Round round, Interval positions, std::uint32_t slice,
            const std::vector<float>& each) {
  Push push = it.push(round, positions, slice);
  std::vector<float> sum = each;
  for (float& value : sum) value *= static_cast<float>(positions.size());
  push.values = Blob::copy_of(sum);
  return push;
}

std::vector<float> values_of(const ShardCase& it, std::uint32_t slice) {
  const auto floats = it.shard.slices()[slice].current().floats();
  return {floats.begin(), floats.end()};
}

TEST(ShardRules, DifferencesAreAveragedForEveryOptimizer) {
  using Kind = nn::Optimizer::Kind;
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::adamw, Kind::lars, Kind::lamb}) {
    for (const SumOrder order : {SumOrder::arrival, SumOrder::positions}) {
      Job job = job_of_two_rules(kind);
      job.sum_order = order;
      ShardCase it(job);
      it.load();
      for (Round round = 0; round < 2; ++round) {
        const Position from = round * 8;
        it.open(round, {from, from + 8});
        it.finish(round, {from, from + 8});  // covers the weights and the differences
        ASSERT_EQ(it.shard.version(), round + 1);
      }
      const std::vector<float> before = values_of(it, differences);
      it.open(2, {16, 24});
      it.deliver(worker_node(2), pushed(it, 2, {18, 24}, differences, {4, -8, 0}));
      it.deliver(worker_node(1), pushed(it, 2, {16, 18}, differences, {0, 8, 4}));
      const std::vector<float> after = values_of(it, differences);
      EXPECT_THAT(after, ElementsAre(before[0] + 3, before[1] - 4, before[2] + 1))
          << static_cast<int>(kind) << ": weighted by 3/4 and 1/4";
      EXPECT_EQ(it.shard.version(), 2U) << "the weights are not covered yet";
      it.deliver(worker_node(1), it.push(2, {16, 24}, weights));
      EXPECT_EQ(it.shard.version(), 3U);
    }
  }
}

TEST(ShardRules, DifferencesAreExcludedFromNormAndClipping) {
  ShardCase it(job_of_two_rules(nn::Optimizer::Kind::sgd));
  it.load();
  it.open(0, {0, 8}, true);
  it.deliver(worker_node(1), pushed(it, 0, {0, 8}, differences, {100, 200, 300}));
  it.deliver(worker_node(1), pushed(it, 0, {0, 8}, weights, {3, 4}));
  ASSERT_THAT(it.sent<Covered>(), SizeIs(1));
  EXPECT_THAT(it.sent<Covered>()[0].squares, ElementsAre(25, 0));
  it.deliver(scheduler_node, Commit{it.term, 0, 0.5});
  EXPECT_THAT(values_of(it, differences), ElementsAre(100, 200, 300));
  EXPECT_THAT(values_of(it, weights), ElementsAre(-0.375F, -0.5F))
      << "half of the gradient, at a learning rate of 1/4";
}

TEST(ShardRules, NonFiniteDifferencesAreRefused) {
  ShardCase it(job_of_two_rules(nn::Optimizer::Kind::sgd));
  it.load();
  it.open(0, {0, 8});
  it.deliver(worker_node(1), it.push(0, {0, 8}, weights));
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    it.deliver(worker_node(1), pushed(it, 0, {0, 8}, differences, {1, bad, 1}));
    ASSERT_THAT(it.sent<GradientRejected>(), SizeIs(1));
    EXPECT_EQ(it.sent<GradientRejected>()[0].slice, differences);
    EXPECT_EQ(it.sent<GradientRejected>()[0].worker, worker_node(1));
  }
  EXPECT_EQ(it.shard.version(), 0U);
  it.deliver(worker_node(1), pushed(it, 0, {0, 8}, differences, {1, 2, 3}));
  EXPECT_THAT(it.sent<GradientRejected>(), IsEmpty());
  EXPECT_THAT(values_of(it, differences), ElementsAre(1, 2, 3));
  EXPECT_EQ(it.shard.version(), 1U);
}

}  // namespace
}  // namespace steelyard::shard_rules_test
