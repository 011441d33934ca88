// How pushes become versions, under both rules. For whole shards see shard_test and shard_on_arrival_test.
#include "server/shard/close_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::close_rule_test {
namespace {

using ::testing::IsEmpty;

constexpr nn::Optimizer sgd{nn::Optimizer::Kind::sgd, 0, 0};

SliceMemory made_slice() {
  SliceMemory slice({0, 1, 0}, {0, 1}, 0);
  EXPECT_TRUE(slice.load(0, 3, 0, Blob::copy_of(std::vector<float>{1})));
  return slice;
}
Push push(Round round, Interval positions, float value, std::uint64_t steps = 0) {
  Push push;
  push.piece.round = round, push.piece.positions = positions;
  push.weight = static_cast<double>(positions.size());
  push.values = Blob::copy_of(std::vector<float>{value});
  push.steps = steps;
  return push;
}
float value_of(const SliceMemory& slice) { return slice.current().floats()[0]; }

// The learning rate is 0.5.
std::unique_ptr<CloseRule> rule_for(const std::string& sync, const nn::Optimizer& optimizer) {
  Job job;
  job.sync = parse_sync(sync);
  job.optimizer = optimizer;
  job.train_samples = 1024;
  job.schedule.base = 0.5;
  job.global_batch = 8;
  job.epochs = 1;
  job.workers = 3;
  return close_rule(job);
}

const NodeId worker{Role::worker, 1};
const BeginRound open_round{.round = 3, .positions = {0, 8}, .quorum = 8};

TEST(CloseRule, ExactVersionsStepOncePerRound) {
  const auto rule = rule_for("bsp", sgd);
  SliceMemory slice = made_slice();
  EXPECT_TRUE(rule->takes(push(3, {0, 4}, 8), slice));
  EXPECT_FALSE(rule->takes(push(4, {8, 12}, 8), slice)) << "round 4 is not open in this slice";
  EXPECT_TRUE(rule->add(worker, push(3, {0, 4}, 8), open_round, slice));
  EXPECT_FALSE(rule->add(worker, push(3, {2, 8}, 8), open_round, slice)) << "partly covered";
  EXPECT_TRUE(rule->add(worker, push(3, {4, 8}, 8), open_round, slice));
  EXPECT_EQ(value_of(slice), 1) << "parameters change only at close()";
  rule->close({&slice, 1}, open_round, 1);
  EXPECT_EQ(slice.version(), 4U);
  EXPECT_EQ(value_of(slice), 1 - 0.5F * 16 / 8);
  EXPECT_FALSE(rule->answers_each_push());
  EXPECT_THAT(rule->staleness(), IsEmpty());
}

TEST(CloseRule, ExactPullsNameOneVersion) {
  const auto rule = rule_for("bsp", sgd);
  const SliceMemory slice = made_slice();
  EXPECT_TRUE(rule->has({.version = 3}, slice));
  EXPECT_FALSE(rule->has({.version = 4}, slice));
  EXPECT_TRUE(rule->will_have({.version = 4}, slice));
  EXPECT_FALSE(rule->will_have({.version = 2}, slice)) << "version 2 has expired";
}

TEST(CloseRule, LocalStepsAreAppliedWithoutMomentumAndDecay) {
  const nn::Optimizer momentum{nn::Optimizer::Kind::momentum, 0.9, 0.1};
  const auto rule = rule_for("local:4", momentum);
  SliceMemory slice = made_slice();
  EXPECT_TRUE(rule->add(worker, push(3, {0, 8}, 8), open_round, slice));
  rule->close({&slice, 1}, open_round, 1);
  EXPECT_EQ(value_of(slice), 0.5) << "a plain SGD step";
}

TEST(CloseRule, OnArrivalEveryPushIsAStep) {
  for (const auto& [sync, divisor] : {std::pair("ssp:2", 8.0F), {"asp", 4.0F}}) {
    const auto rule = rule_for(sync, sgd);
    SliceMemory slice = made_slice();
    EXPECT_TRUE(rule->takes(push(5, {16, 20}, 8), slice)) << "several rounds may be open";
    EXPECT_TRUE(rule->add(worker, push(3, {0, 4}, 8), open_round, slice));
    EXPECT_EQ(value_of(slice), 1 - 0.5F * 8 / divisor) << sync;
    EXPECT_FALSE(rule->add(worker, push(3, {0, 4}, 8), open_round, slice));
    EXPECT_EQ(slice.version(), 3U);
    rule->close({&slice, 1}, open_round, 1);
    EXPECT_EQ(slice.version(), 4U);
    EXPECT_EQ(value_of(slice), 1 - 0.5F * 8 / divisor) << "close() changes no parameter";
  }
}

// If each worker pushes one share between two steps, a step of ksoft:n equals the step of bsp bit for bit.
TEST(CloseRule, AllSharesMakeOneSynchronousStep) {
  const nn::Optimizer momentum{nn::Optimizer::Kind::momentum, 0.9, 0.1};
  const auto soft = rule_for("ksoft:3", momentum), bsp = rule_for("bsp", momentum);
  SliceMemory gathered({0, 1, 0}, {0, 1}, 1), summed({0, 1, 0}, {0, 1}, 1);
  for (SliceMemory* slice : {&gathered, &summed}) {
    for (const std::uint32_t slot : {0U, 1U})
      EXPECT_TRUE(slice->load(slot, 3, 0, Blob::copy_of(std::vector<float>{1})));
  }
  for (Round round = 3; round < 6; ++round) {
    const BeginRound open{.round = round, .positions = {0, 8}, .quorum = 8};
    for (const Interval share : {Interval{0, 3}, {3, 6}, {6, 8}}) {
      EXPECT_EQ(value_of(gathered), value_of(summed)) << "parameters change only after the last share";
      for (const auto& [rule, slice] : {std::pair(soft.get(), &gathered), {bsp.get(), &summed}})
        EXPECT_TRUE(rule->add(
            worker, push(round, share, 0.1F * static_cast<float>(share.begin + round), slice->steps()), open,
            *slice));
    }
    for (const auto& [rule, slice] : {std::pair(soft.get(), &gathered), {bsp.get(), &summed}})
      rule->close({slice, 1}, open, 1);
  }
  EXPECT_EQ(value_of(gathered), value_of(summed));
}

// With a batch of 8, ksoft:2 of 3 workers needs 5 positions and eager needs 4.
TEST(CloseRule, AQuorumOfPositionsMakesAStepOfTheirAverage) {
  for (const auto& [sync, first] : {std::pair("ksoft:2", 5U), {"eager", 4U}}) {
    const auto rule = rule_for(sync, sgd);
    SliceMemory slice = made_slice();
    for (Position at = 0; at + 1 < first; ++at)
      EXPECT_TRUE(rule->add(worker, push(3, {at, at + 1}, 1), open_round, slice));
    EXPECT_EQ(value_of(slice), 1) << sync;
    EXPECT_TRUE(rule->add(worker, push(3, {first - 1, first + 1}, 4), open_round, slice));
    EXPECT_FLOAT_EQ(value_of(slice),
                    1 - 0.5F * static_cast<float>(first + 3) / static_cast<float>(first + 1));
    EXPECT_EQ(slice.steps(), 1U);
    EXPECT_TRUE(rule->add(worker, push(3, {first + 1, first + 2}, 7, 1), open_round, slice));
    EXPECT_EQ(slice.steps(), 1U) << sync << ": late pushes join the next step";
    EXPECT_EQ(slice.gathered(), 1U);
    const float before = value_of(slice);
    rule->settle(open_round, slice);
    EXPECT_FLOAT_EQ(value_of(slice), before - 0.5F * 7);
    EXPECT_EQ(slice.gathered(), 0U);
  }
}

// A step of ksoft-wait:2 averages two pushes, and a worker's pull waits for the step that applies its push.
TEST(CloseRule, WaitingPushesAreAppliedTogether) {
  const auto rule = rule_for("ksoft-wait:2", sgd);
  SliceMemory slice = made_slice();
  EXPECT_TRUE(rule->is_in_slices({&slice, 1}));
  for (const std::uint64_t number : {1U, 2U, 3U}) rule->answered({Role::worker, number}, slice);
  EXPECT_FALSE(rule->is_in_slices({&slice, 1})) << "the number of workers decides when a step is due";
  const Pull first{.version = 3, .own = {{3, {0, 2}}}}, second{.version = 3, .own = {{3, {2, 3}}}};
  EXPECT_TRUE(rule->add(worker, push(3, {0, 2}, 4), open_round, slice));
  EXPECT_FALSE(rule->add(worker, push(3, {0, 2}, 4), open_round, slice));
  EXPECT_EQ(value_of(slice), 1);
  EXPECT_EQ(slice.gathered(), 2U);
  EXPECT_FALSE(rule->has(first, slice));
  EXPECT_TRUE(rule->add(worker, push(3, {2, 3}, 2), open_round, slice));
  EXPECT_EQ(value_of(slice), 1 - 0.5F * 6 / 3);
  EXPECT_TRUE(rule->has(first, slice) && rule->has(second, slice));
  EXPECT_TRUE(rule->add(worker, push(3, {3, 4}, 8), open_round, slice));
  EXPECT_EQ(slice.steps(), 1U);
  EXPECT_TRUE(rule->has(first, slice)) << "the next step concerns other workers";
  rule->settle(open_round, slice);
  EXPECT_EQ(value_of(slice), 0 - 0.5F * 8);
  EXPECT_EQ(slice.gathered(), 0U);
}

TEST(CloseRule, OnlyTheOldestWaitingPushIsApplied) {
  const auto rule = rule_for("ksoft-wait:2:first", sgd);
  SliceMemory slice = made_slice();
  for (const std::uint64_t number : {1U, 2U, 3U}) rule->answered({Role::worker, number}, slice);
  EXPECT_TRUE(rule->add(worker, push(3, {0, 2}, 4), open_round, slice));
  EXPECT_TRUE(rule->add(worker, push(3, {2, 4}, 8), open_round, slice));
  EXPECT_EQ(value_of(slice), 1 - 0.5F * 4 / 2);
  EXPECT_TRUE(rule->has({.version = 3, .own = {{3, {0, 2}}}}, slice));
  EXPECT_FALSE(rule->has({.version = 3, .own = {{3, {2, 4}}}}, slice));
  EXPECT_TRUE(rule->add(worker, push(3, {4, 6}, 6), open_round, slice));
  EXPECT_EQ(value_of(slice), 0 - 0.5F * 8 / 2);
  EXPECT_EQ(slice.gathered(), 2U);
  EXPECT_EQ(rule->staleness()[0], 1U);
  EXPECT_EQ(rule->staleness()[1], 1U) << "counted when the push is applied";
}

TEST(CloseRule, ALostWorkerIsNotWaitedFor) {
  const auto rule = rule_for("ksoft-wait:3", sgd);
  SliceMemory slice = made_slice();
  for (const std::uint64_t number : {1U, 2U, 3U}) rule->answered({Role::worker, number}, slice);
  EXPECT_TRUE(rule->add(worker, push(3, {0, 1}, 4), open_round, slice));
  EXPECT_TRUE(rule->add(worker, push(3, {1, 2}, 4), open_round, slice));
  rule->step_if_due(open_round, slice);
  EXPECT_EQ(slice.steps(), 0U);
  rule->gone({Role::worker, 3});
  rule->step_if_due(open_round, slice);
  EXPECT_EQ(value_of(slice), 1 - 0.5F * 8 / 2);
}

// alpha(tau) of Zhang et al. (IJCAI 2016) is 1 for tau = 0, else 1 / tau. With one share per worker,
// n-softsync steps at each push like asp, except for this factor.
TEST(CloseRule, SoftsyncDampsLatePushes) {
  const auto soft = rule_for("nsoft:4", sgd), asp = rule_for("asp", sgd);
  SliceMemory slice = made_slice(), plain = made_slice();
  for (Position at = 0; at < 4; ++at) {
    const float before = value_of(slice), plain_before = value_of(plain);
    EXPECT_TRUE(soft->add(worker, push(3, {2 * at, 2 * at + 2}, 8), open_round, slice));
    EXPECT_TRUE(asp->add(worker, push(3, {2 * at, 2 * at + 2}, 8), open_round, plain));
    EXPECT_FLOAT_EQ(plain_before - value_of(plain), 2);
    EXPECT_FLOAT_EQ(before - value_of(slice), at < 2 ? 2 : 2.0F / static_cast<float>(at)) << "late by " << at;
    EXPECT_EQ(slice.steps(), plain.steps());
  }
  EXPECT_EQ(soft->staleness(), asp->staleness());
}

// lambda(tau) = 1 / (tau + 1). The gradient is 8 / 2 = 4 and the rate 0.5, so an undelayed step is 2.
TEST(CloseRule, DynsgdStepsLessForLatePushes) {
  const auto rule = rule_for("dynsgd", sgd);
  SliceMemory slice = made_slice();
  for (const float value : {1 - 2.0F, -1 - 1.0F, -2 - 2.0F / 3}) {
    const Position at = 2 * slice.steps();
    EXPECT_TRUE(rule->add(worker, push(3, {at, at + 2}, 8), open_round, slice));
    EXPECT_FLOAT_EQ(value_of(slice), value);
  }
  EXPECT_TRUE(rule->add(worker, push(3, {6, 8}, 8, 3), open_round, slice));
  EXPECT_FLOAT_EQ(value_of(slice), -2 - 2.0F / 3 - 2) << "pulled after the third step";
  EXPECT_THAT(rule->staleness(), ::testing::Contains(2U)) << "two pushes were on time";
}

// The rate is divided, not the gradient: the velocity is that of asp, and so is the direction of rules that
// divide by the size of gradients.
TEST(CloseRule, DynsgdKeepsTheOptimizersState) {
  const nn::Optimizer momentum{nn::Optimizer::Kind::momentum, 0.5, 0};
  const auto rule = rule_for("dynsgd", momentum);
  SliceMemory slice({0, 1, 0}, {0, 1}, 1);
  for (const std::uint32_t slot : {0U, 1U})
    EXPECT_TRUE(slice.load(slot, 3, 0, Blob::copy_of(std::vector<float>{0})));
  EXPECT_TRUE(rule->add(worker, push(3, {0, 2}, 8), open_round, slice));
  EXPECT_TRUE(rule->add(worker, push(3, {2, 4}, 8), open_round, slice));
  EXPECT_FLOAT_EQ(slice.copy_of(1).floats()[0], 6) << "0.5 * 4 + 4";
  EXPECT_FLOAT_EQ(value_of(slice), -0.5F * 4 - 0.25F * 6);
}

// 1024 samples in batches of 8: 128 rounds an epoch, so in the one epoch of the job 64 have a barrier.
TEST(CloseRule, SyncSwitchIsBspUntilItSwitches) {
  const nn::Optimizer momentum{nn::Optimizer::Kind::momentum, 0.9, 0.1};
  const auto hybrid = rule_for("sync-switch:50", momentum), bsp = rule_for("bsp", momentum);
  SliceMemory gathered({0, 1, 0}, {0, 1}, 1), summed({0, 1, 0}, {0, 1}, 1);
  for (SliceMemory* slice : {&gathered, &summed}) {
    for (const std::uint32_t slot : {0U, 1U})
      EXPECT_TRUE(slice->load(slot, 62, 0, Blob::copy_of(std::vector<float>{1})));
  }
  for (const Round round : {Round{62}, Round{63}}) {
    const BeginRound open{.round = round, .positions = {0, 8}, .quorum = 8};
    for (const Interval share : {Interval{0, 3}, {3, 6}, {6, 8}}) {
      EXPECT_EQ(value_of(gathered), value_of(summed)) << "parameters change only after the last share";
      for (const auto& [rule, slice] : {std::pair(hybrid.get(), &gathered), {bsp.get(), &summed}})
        EXPECT_TRUE(rule->add(
            worker, push(round, share, 0.1F * static_cast<float>(share.begin + round), slice->steps()), open,
            *slice));
    }
    hybrid->close({&gathered, 1}, open, 1), bsp->close({&summed, 1}, open, 1);
    EXPECT_EQ(value_of(gathered), value_of(summed));
  }
  EXPECT_THAT(hybrid->staleness(), ::testing::Each(::testing::AnyOf(0U, 6U)));
  EXPECT_EQ(hybrid->staleness()[0], 6U);
  const BeginRound open{.round = 64, .positions = {0, 8}, .quorum = 8};
  EXPECT_TRUE(hybrid->add(worker, push(64, {0, 4}, 8, 2), open, gathered));
  EXPECT_EQ(gathered.steps(), 3U) << "now each push is a step";
  EXPECT_TRUE(hybrid->add(worker, push(64, {4, 8}, 8, 2), open, gathered));
  EXPECT_EQ(hybrid->staleness()[1], 1U);
}

// After the switch, and under elastic-bsp, a push of 2 positions is 2 / 8 of an update, also in long rounds.
TEST(CloseRule, PartsOfAGlobalBatchArePartsOfAnUpdate) {
  for (const char* sync : {"sync-switch:1", "elastic-bsp:4"}) {
    const auto rule = rule_for(sync, sgd);
    SliceMemory slice = made_slice();
    const BeginRound open{.round = 3, .positions = {0, 24}, .quorum = 24};
    EXPECT_TRUE(rule->add(worker, push(3, {0, 2}, 8), open, slice));
    EXPECT_FLOAT_EQ(value_of(slice), 1 - 0.5F * 8 / 8) << sync;
  }
}

TEST(CloseRule, OnArrivalPullsWaitForTheWorkersOwnPushes) {
  const auto rule = rule_for("ssp:2", sgd);
  SliceMemory slice = made_slice();
  const Pull pull{.version = 2, .own = {{3, {0, 4}}}};
  EXPECT_TRUE(rule->has({.version = 2}, slice)) << "a newer version satisfies the pull";
  EXPECT_FALSE(rule->has(pull, slice));
  EXPECT_TRUE(rule->will_have(pull, slice));
  EXPECT_TRUE(rule->add(worker, push(3, {0, 4}, 8), open_round, slice));
  EXPECT_TRUE(rule->has(pull, slice));
  EXPECT_TRUE(rule->answers_each_push());
}

TEST(CloseRule, OnArrivalStalenessIsCounted) {
  const auto rule = rule_for("asp", sgd);
  SliceMemory slice = made_slice();
  for (Position at = 0; at < 4; ++at)
    EXPECT_TRUE(rule->add(worker, push(3, {at, at + 1}, 1), open_round, slice));
  EXPECT_TRUE(rule->add(worker, push(3, {4, 5}, 1, 4), open_round, slice));
  const Staleness staleness = rule->staleness();
  EXPECT_EQ(staleness[0], 2U) << "the first push, and the one computed from the latest step";
  for (const int late : {1, 2, 3}) EXPECT_EQ(staleness[late], 1U);
}

}  // namespace
}  // namespace steelyard::close_rule_test
