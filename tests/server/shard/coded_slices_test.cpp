// Shards with coded pushes and pulls, and the outer optimizer for local steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/server/shard/shard_case.h"

namespace steelyard::coded_slices_test {
namespace {

using test::ShardCase;
using test::worker_node;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

Job coded_job(FloatCode push, FloatCode pull) {
  Job job = test::shard_job();
  job.push_encoding = push;
  job.pull_encoding = pull;
  return job;
}

Push coded(const ShardCase& it, Interval positions, std::uint32_t slice) {
  Push push = it.push(0, positions, slice);
  push.values = encode(it.job.push_encoding, push.values.floats());
  return push;
}

TEST(ShardCoded, SumsDecodedValues) {
  for (const FloatCode code : {FloatCode::bf16, FloatCode::int8}) {
    ShardCase it(coded_job(code, FloatCode::float32));
    it.load();
    it.open(0, {0, 2});
    for (std::uint32_t slice = 0; slice < it.slices.size(); ++slice) {
      it.deliver(worker_node(1), coded(it, {0, 1}, slice));
      it.deliver(worker_node(2), coded(it, {1, 2}, slice));
    }
    EXPECT_EQ(it.shard.version(), 1U);
    test::PlainLoop loop(it.job);
    loop.round({0, 2});
    for (std::size_t i = 0; i < loop.parameters.size(); ++i)
      EXPECT_NEAR(it.parameters()[i], loop.parameters[i], 0.05);
  }
}

TEST(ShardCoded, RefusesInvalidCodes) {
  ShardCase it(coded_job(FloatCode::int4, FloatCode::float32));
  it.load();
  it.open(0, {0, 2});
  it.deliver(worker_node(1), it.push(0, {0, 1}, 0));
  EXPECT_EQ(it.shard.counts().malformed, 1U) << "uncoded floats";
  Push spoilt = coded(it, {0, 1}, 0);
  std::vector<std::uint8_t> bytes{0, 0, 0x80, 0xBF, 1, 1};
  spoilt.values = Blob(nullptr, std::as_bytes(std::span(bytes)));
  it.deliver(worker_node(1), spoilt);
  EXPECT_EQ(it.shard.counts().malformed, 2U) << "a scale below zero";
  Push infinite = it.push(0, {0, 1}, 0);
  infinite.values = encode(FloatCode::int4, std::vector<float>{1, 2, 3, INFINITY});
  it.deliver(worker_node(1), infinite);
  EXPECT_THAT(it.sent<GradientRejected>(), SizeIs(1));
  EXPECT_EQ(it.shard.counts().added, 0U);
  it.deliver(worker_node(1), coded(it, {0, 1}, 0));
  EXPECT_EQ(it.shard.counts().added, 1U);
}

// Running statistics are not coded.
TEST(ShardCoded, OtherRangesAreSentUncoded) {
  Job job = coded_job(FloatCode::int4, FloatCode::int4);
  append(job.layout, "mean", {3}, Rule::ema, 0, 0.5);
  ShardCase it(job);
  it.load();
  it.open(0, {0, 1});
  const auto last = static_cast<std::uint32_t>(it.slices.size() - 1);
  it.deliver(worker_node(1), it.push(0, {0, 1}, last));
  EXPECT_EQ(it.shard.counts().added, 1U);
  it.deliver(worker_node(1), Pull{ShardCase::term, 1, 5, {}, true});
  const auto answers = it.sent<Parameters>();
  ASSERT_THAT(answers, SizeIs(1));
  EXPECT_FALSE(answers[0].difference);
  EXPECT_TRUE(answers[0].values.holds_floats(3));
}

TEST(ShardCoded, WorkersWithThePreviousVersionGetDifferences) {
  ShardCase it(coded_job(FloatCode::float32, FloatCode::int4));
  it.load();
  it.deliver(worker_node(1), Pull{ShardCase::term, 0, 1, {}, true});
  for (const Parameters& whole : it.sent<Parameters>()) EXPECT_FALSE(whole.difference) << "the first pull";
  it.open(0, {0, 2});
  it.finish(0, {0, 2});
  it.deliver(worker_node(2), Pull{ShardCase::term, 1, 1, {}, false});
  const auto whole = it.sent<Parameters>();
  it.deliver(worker_node(1), Pull{ShardCase::term, 1, 2, {}, true});
  const auto differences = it.sent<Parameters>();
  ASSERT_EQ(whole.size(), it.slices.size());
  ASSERT_EQ(differences.size(), it.slices.size());
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_FALSE(whole[i].difference);
    ASSERT_TRUE(differences[i].difference);
    const std::size_t size = it.slices[i].size();
    EXPECT_EQ(differences[i].values.size(), coded_bytes(FloatCode::int4, size));
    std::vector<float> zeros(size), added(size);
    ASSERT_TRUE(add_decoded(FloatCode::int4, differences[i].values.bytes(), zeros, added));
    EXPECT_TRUE(std::ranges::equal(added, whole[i].values.floats()));
  }
  // The previous version is still available, with the same difference.
  it.open(1, {2, 4});
  it.finish(1, {2, 4});
  it.deliver(worker_node(3), Pull{ShardCase::term, 1, 3, {}, true});
  for (std::size_t i = 0; const Parameters& late : it.sent<Parameters>()) {
    EXPECT_TRUE(late.difference);
    EXPECT_TRUE(std::ranges::equal(late.values.bytes(), differences[i++].values.bytes()));
  }
}

// DiLoCo (Douillard et al. 2023), outer Nesterov with 0.7 and 0.9: two differences of 1 lead to -1.33, then
// -3.227.
TEST(OuterRule, IsNesterovOnTheLocalChange) {
  Job job = test::shard_job(1, 1);
  job.sync = parse_sync("diloco:1");
  job.schedule.base = 1;
  job.outer_rate = 0.7;
  job.outer_momentum = 0.9;
  ShardCase it(job);
  it.load();
  for (Round round = 0; round < 2; ++round) {
    BeginRound open{ShardCase::term, round, 0, {round, round + 1}, 1};
    open.local = {1, 1};
    it.deliver(scheduler_node, open);
    Push push = it.push(round, {round, round + 1}, 0);
    push.values = ShardCase::constant(1, 1);
    it.deliver(worker_node(1), push);
    EXPECT_NEAR(it.parameters()[0], round == 0 ? -1.33 : -3.227, 1e-6);
  }
  // Checkpoints include the outer momentum.
  it.deliver(test::checkpointer_node, it.fetch(2));
  const auto state = it.sent<State>();
  ASSERT_THAT(state, SizeIs(2));
  EXPECT_NEAR(state[1].values.floats()[0], 1.9, 1e-6);
}

TEST(OuterRule, AveragingNeedsNoState) {
  Job job = test::shard_job(1, 1, nn::Optimizer::Kind::momentum);
  EXPECT_EQ(state_slots(job), 1U);
  job.sync = parse_sync("local:4");
  EXPECT_EQ(state_slots(job), 0U) << "momentum belongs to the workers";
  job.pull_encoding = FloatCode::int8;
  EXPECT_EQ(state_slots(job), 1U) << "the part of the update not yet sent to workers";
  job.outer_momentum = 0.5;
  EXPECT_EQ(state_slots(job), 2U);
}

}  // namespace
}  // namespace steelyard::coded_slices_test
