// How pushes update the hubs' copies, and how hubs mix: MLL-SGD (Castiglia, Das, Patterson, ICLR 2021,
// section 3). A slice of one float and a learning rate of 0.5.
#include "server/shard/close_rule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::hub_rule_test {
namespace {

const NodeId worker{Role::worker, 1};

class HubRuleTest : public ::testing::Test {
 protected:
  void use(const std::string& sync) {
    Job job;
    job.sync = parse_sync(sync);
    job.train_samples = 1024;
    job.schedule.base = 0.5;
    rule = close_rule(job);
    ASSERT_TRUE(slice.load(0, 0, 0, Blob::copy_of(std::vector<float>{1})));
    rule->begin({&slice, 1});
  }
  [[nodiscard]] Push push(HubNumber hub, Interval positions, float sum) const {
    Push push;
    push.piece.round = slice.version(), push.piece.positions = positions, push.piece.hub = hub;
    push.weight = static_cast<double>(positions.size());
    push.values = Blob::copy_of(std::vector<float>{sum});
    return push;
  }
  bool add(const Push& it) { return rule->takes(it, slice) && rule->add(worker, it, open(), slice); }
  [[nodiscard]] BeginRound open() const {
    return {.round = slice.version(), .positions = {0, 8}, .quorum = 8, .local = {1}};
  }
  void close() { rule->close({&slice, 1}, open(), 1); }
  [[nodiscard]] float pulled(HubNumber hub, bool current = true) const {
    const Pull pull{.version = slice.version(), .hub = hub};
    return rule->told(pull, slice, current).floats()[0];
  }

  SliceMemory slice{{0, 1, 0}, {0, 1}, 0};
  std::unique_ptr<CloseRule> rule;
};

TEST_F(HubRuleTest, EachHubAveragesItsOwnPushes) {
  use("mll:1:2:2");
  EXPECT_EQ(pulled(1), 1);
  EXPECT_TRUE(add(push(1, {0, 2}, 8)));
  EXPECT_TRUE(add(push(1, {2, 4}, 0)));
  EXPECT_TRUE(add(push(2, {4, 8}, -4)));
  EXPECT_EQ(pulled(1), 1) << "parameters change only at close()";
  close();
  EXPECT_EQ(slice.version(), 1U);
  EXPECT_EQ(pulled(1), 0) << "1 - 0.5 * 8 / 4";
  EXPECT_EQ(pulled(2), 1.5F) << "1 + 0.5 * 4 / 4";
  EXPECT_EQ(pulled(whole_model), 0.75F) << "weighted by positions: half and half";
  for (const HubNumber hub : {whole_model, 1U, 2U})
    EXPECT_EQ(pulled(hub, false), 1) << "the previous version";
}

TEST_F(HubRuleTest, APositionCountsOnceAcrossHubs) {
  use("mll:1:2:2");
  EXPECT_TRUE(add(push(1, {0, 4}, 8)));
  EXPECT_FALSE(add(push(1, {0, 4}, 8)));
  EXPECT_FALSE(add(push(2, {2, 6}, 8))) << "partly covered by the other hub";
  EXPECT_FALSE(add(push(3, {4, 8}, 8))) << "no such hub";
  EXPECT_FALSE(add(push(whole_model, {4, 8}, 8))) << "a push must name a hub";
  EXPECT_TRUE(add(push(2, {4, 8}, 0)));
  close();
  EXPECT_EQ(pulled(1), 0);
  EXPECT_EQ(pulled(2), 1);
}

// Weighted by the positions of all rounds since the last mix.
TEST_F(HubRuleTest, HubsMixEveryQthRoundWeightedByPositions) {
  use("mll:1:2:2");
  EXPECT_TRUE(add(push(1, {0, 6}, 0)));
  EXPECT_TRUE(add(push(2, {6, 8}, -4)));  // 1 + 0.5 * 4 / 2 = 2
  close();
  EXPECT_EQ(pulled(1), 1);
  EXPECT_EQ(pulled(2), 2);
  EXPECT_EQ(pulled(whole_model), (6 * 1.0F + 2 * 2.0F) / 8);
  EXPECT_TRUE(add(push(1, {0, 6}, 0)));
  EXPECT_TRUE(add(push(2, {6, 8}, 0)));
  close();
  for (const HubNumber hub : {whole_model, 1U, 2U}) EXPECT_EQ(pulled(hub), (12 * 1.0F + 4 * 2.0F) / 16);
  EXPECT_TRUE(add(push(1, {0, 2}, 0)));
  EXPECT_TRUE(add(push(2, {2, 8}, -12)));
  close();
  EXPECT_EQ(pulled(whole_model), (2 * 1.25F + 6 * 2.25F) / 8) << "positions before the last mix do not count";
}

// As in the official code, weights are renormalised among neighbours: 1 - 2 - 3 with 2, 2 and 4 positions.
TEST_F(HubRuleTest, OnAPathOnlyNeighboursMix) {
  use("mll:1:1:3:line");
  EXPECT_TRUE(add(push(1, {0, 2}, -4)));  // 2
  EXPECT_TRUE(add(push(2, {2, 4}, 0)));   // 1
  EXPECT_TRUE(add(push(3, {4, 8}, 16)));  // -1
  close();
  EXPECT_FLOAT_EQ(pulled(1), (2 * 2 + 2 * 1) / 4.0F);
  EXPECT_FLOAT_EQ(pulled(2), (2 * 2 + 2 * 1 + 4 * -1) / 8.0F) << "computed from the values before mixing";
  EXPECT_FLOAT_EQ(pulled(3), (2 * 1 + 4 * -1) / 6.0F);
  EXPECT_FLOAT_EQ(pulled(whole_model), (2 * pulled(1) + 2 * pulled(2) + 4 * pulled(3)) / 8);
}

TEST_F(HubRuleTest, AHubWithoutPositionsChangesOnlyByMixing) {
  use("mll:1:2:3:line");
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(add(push(3, {0, 8}, -16)));
    close();
    EXPECT_EQ(pulled(1), 1) << "neither hub 1 nor its neighbour has positions";
    EXPECT_EQ(pulled(whole_model), round + 2) << "hubs without positions have no weight";
  }
  EXPECT_EQ(pulled(2), 3) << "mixed with hub 3";
  EXPECT_EQ(pulled(3), 3);
}

TEST_F(HubRuleTest, APushOfAnotherRoundIsRefused) {
  use("mll:1:2:2");
  Push early = push(1, {0, 8}, 8);
  early.piece.round = 1;
  EXPECT_FALSE(rule->takes(early, slice));
  EXPECT_TRUE(rule->will_have({.version = 1}, slice));
  EXPECT_TRUE(rule->has({.version = 0, .hub = 2}, slice));
  EXPECT_FALSE(rule->has({.version = 1, .hub = 2}, slice));
}

// One hub that mixes every round is distributed SGD, bit for bit.
TEST_F(HubRuleTest, OneHubEqualsExactVersions) {
  use("mll:1:1:1");
  Job job;
  job.sync = parse_sync("local:1"), job.train_samples = 1024, job.schedule.base = 0.5;
  const auto local = close_rule(job);
  SliceMemory plain{{0, 1, 0}, {0, 1}, 0};
  ASSERT_TRUE(plain.load(0, 0, 0, Blob::copy_of(std::vector<float>{1})));
  for (int round = 0; round < 50; ++round) {
    const Push its = push(1, {0, 8}, 0.1F * static_cast<float>(round + 1));
    Push same = its;
    same.piece.hub = whole_model;
    ASSERT_TRUE(local->add(worker, same, open(), plain));
    local->close({&plain, 1}, open(), 1);
    ASSERT_TRUE(add(its));
    close();
    EXPECT_EQ(pulled(1), plain.current().floats()[0]);
    EXPECT_EQ(pulled(whole_model), plain.current().floats()[0]);
  }
}

}  // namespace
}  // namespace steelyard::hub_rule_test
