// Versions kept for the checkpointer while later rounds continue.
#include "tests/server/shard/shard_case.h"

namespace steelyard::saved_versions_test {
namespace {

using test::checkpointer_node;
using test::shard_job;
using test::ShardCase;
using ::testing::IsEmpty;

std::vector<float> slot_of(const std::vector<State>& states, std::uint32_t slot) {
  std::vector<float> values;
  for (const State& state : states) {
    if (state.slot == slot)
      values.insert(values.end(), state.values.floats().begin(), state.values.floats().end());
  }
  return values;
}

TEST(ShardSaving, AMarkedVersionIsKeptDuringLaterRounds) {
  ShardCase it(shard_job(10, 4, nn::Optimizer::Kind::momentum));
  it.load();
  it.open(0, {0, 8}, false, true);
  it.finish(0, {0, 8});
  const std::vector<float> marked = it.parameters();
  it.deliver(checkpointer_node, it.fetch(1));
  const std::vector<State> before = it.sent<State>();
  for (Round round = 1; round < 5; ++round) {
    it.open(round, {8 * round, 8 * (round + 1)});
    it.finish(round, {8 * round, 8 * (round + 1)});
  }
  ASSERT_NE(it.parameters(), marked);
  it.deliver(checkpointer_node, it.fetch(1));
  const std::vector<State> states = it.sent<State>();
  ASSERT_EQ(states.size(), 6U) << "three slices, parameters and momentum";
  EXPECT_EQ(slot_of(states, 0), marked);
  EXPECT_EQ(slot_of(states, 1), slot_of(before, 1)) << "the momentum of that version, not the current one";
  for (const State& state : states) EXPECT_EQ(std::tie(state.version, state.steps), std::make_tuple(1U, 1U));

  it.deliver(checkpointer_node, Saved{1, true, "path"});
  it.deliver(checkpointer_node, it.fetch(1));
  EXPECT_THAT(it.sent<State>(), IsEmpty()) << "released once it is saved";
  EXPECT_EQ(it.sent<VersionExpired>().size(), 6U) << "for each part";
}

TEST(ShardSaving, OnlyRequestedPartsAreSent) {
  ShardCase it(shard_job(10, 4, nn::Optimizer::Kind::momentum));
  it.load(4);
  it.deliver(checkpointer_node, Fetch{4, {{1, 0}, {2, 1}}});
  const auto states = it.sent<State>();
  ASSERT_EQ(states.size(), 2U);
  EXPECT_EQ(std::tie(states[0].slice, states[0].slot), std::make_tuple(1U, 0U));
  EXPECT_EQ(std::tie(states[1].slice, states[1].slot), std::make_tuple(2U, 1U));
  it.deliver(checkpointer_node, Fetch{4, {{3, 0}, {0, 2}}});
  EXPECT_THAT(it.output, IsEmpty());
  EXPECT_EQ(it.shard.counts().ignored, 2U) << "no such slice, no such slot";
}

TEST(ShardSaving, AnUnmarkedVersionIsAvailableWhileCurrent) {
  ShardCase it(shard_job());
  it.load(4);
  it.deliver(checkpointer_node, it.fetch(4));
  EXPECT_EQ(it.sent<State>().size(), 3U);
  it.deliver(checkpointer_node, it.fetch(3));
  EXPECT_EQ(it.sent<VersionExpired>().size(), 3U);
}

// A job that ends in the middle of a round saves the version before it, although some slices may have closed.
TEST(ShardSaving, AClosedSliceWithoutStateSendsThePreviousVersion) {
  ShardCase it(shard_job());
  it.load(4);
  const std::vector<float> before = it.parameters();
  it.open(4, {0, 8});
  it.deliver(test::worker_node(1), it.push(4, {0, 8}, 1));
  ASSERT_NE(it.parameters(), before);
  it.deliver(checkpointer_node, it.fetch(4));
  const std::vector<State> states = it.sent<State>();
  ASSERT_EQ(states.size(), 3U);
  EXPECT_EQ(slot_of(states, 0), before);
  for (const State& state : states) EXPECT_EQ(std::tie(state.version, state.steps), std::make_tuple(4U, 4U));
}

TEST(ShardSaving, MomentumOfThePreviousVersionIsNotAvailable) {
  ShardCase it(shard_job(10, 4, nn::Optimizer::Kind::momentum));
  it.load(4);
  it.open(4, {0, 8});
  it.deliver(test::worker_node(1), it.push(4, {0, 8}, 1));
  it.deliver(checkpointer_node, it.fetch(4));
  EXPECT_EQ(it.sent<State>().size(), 4U) << "parameters and momentum of two slices";
  EXPECT_EQ(it.sent<VersionExpired>().size(), 2U);
}

TEST(ShardSaving, AFutureVersionIsSentSliceBySlice) {
  ShardCase it(shard_job());
  it.load();
  it.open(0, {0, 8}, false, true);
  it.deliver(checkpointer_node, it.fetch(1));
  ASSERT_EQ(it.output.size(), 1U);
  EXPECT_EQ(it.sent<NotYet>().size(), 1U) << "the shard answers, but has not closed the round";
  for (std::uint32_t slice = 0; slice < 3; ++slice) {
    it.deliver(test::worker_node(1), it.push(0, {0, 8}, slice));
    const auto states = it.sent<State>();
    ASSERT_EQ(states.size(), 1U);
    EXPECT_EQ(states[0].slice, slice);
  }
  it.deliver(checkpointer_node, Saved{1, true, ""});
  it.open(1, {8, 16}, false, false);
  it.finish(1, {8, 16});
  EXPECT_THAT(it.sent<State>(), IsEmpty()) << "the fetch has been answered";
}

TEST(ShardSaving, AnUnloadedShardAnswersNotYet) {
  ShardCase it(shard_job());
  it.deliver(checkpointer_node, it.fetch(0));
  ASSERT_EQ(it.output.size(), 1U);
  EXPECT_EQ(it.sent<NotYet>().size(), 1U);
}

}  // namespace
}  // namespace steelyard::saved_versions_test
