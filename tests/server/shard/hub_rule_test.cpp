// How pushes move the copies of hubs, and hubs each other: MLL-SGD (Castiglia, Das, Patterson, ICLR 2021,
// section 3). A slice of one float, at a rate of 0.5.
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
  [[nodiscard]] float told(HubNumber hub, bool current = true) const {
    const Pull pull{.version = slice.version(), .hub = hub};
    return rule->told(pull, slice, current).floats()[0];
  }

  SliceMemory slice{{0, 1, 0}, {0, 1}, 0};
  std::unique_ptr<CloseRule> rule;
};

TEST_F(HubRuleTest, EachHubAveragesItsOwn) {
  use("mll:1:2:2");
  EXPECT_EQ(told(1), 1);
  EXPECT_TRUE(add(push(1, {0, 2}, 8)));
  EXPECT_TRUE(add(push(1, {2, 4}, 0)));
  EXPECT_TRUE(add(push(2, {4, 8}, -4)));
  EXPECT_EQ(told(1), 1) << "nothing has moved";
  close();
  EXPECT_EQ(slice.version(), 1U);
  EXPECT_EQ(told(1), 0) << "1 - 0.5 * 8 / 4";
  EXPECT_EQ(told(2), 1.5F) << "1 + 0.5 * 4 / 4";
  EXPECT_EQ(told(whole_model), 0.75F) << "by their positions: half and half";
  for (const HubNumber hub : {whole_model, 1U, 2U}) EXPECT_EQ(told(hub, false), 1) << "the version before";
}

TEST_F(HubRuleTest, APositionCountsOnceWhoseverItIs) {
  use("mll:1:2:2");
  EXPECT_TRUE(add(push(1, {0, 4}, 8)));
  EXPECT_FALSE(add(push(1, {0, 4}, 8)));
  EXPECT_FALSE(add(push(2, {2, 6}, 8))) << "some of it is covered, by the other hub";
  EXPECT_FALSE(add(push(3, {4, 8}, 8))) << "there is no such hub";
  EXPECT_FALSE(add(push(whole_model, {4, 8}, 8))) << "pushes are to hubs";
  EXPECT_TRUE(add(push(2, {4, 8}, 0)));
  close();
  EXPECT_EQ(told(1), 0);
  EXPECT_EQ(told(2), 1);
}

// By the positions of all rounds since they mixed last.
TEST_F(HubRuleTest, HubsMixEveryQthRoundByTheirPositions) {
  use("mll:1:2:2");
  EXPECT_TRUE(add(push(1, {0, 6}, 0)));
  EXPECT_TRUE(add(push(2, {6, 8}, -4)));  // 1 + 0.5 * 4 / 2 = 2
  close();
  EXPECT_EQ(told(1), 1);
  EXPECT_EQ(told(2), 2);
  EXPECT_EQ(told(whole_model), (6 * 1.0F + 2 * 2.0F) / 8);
  EXPECT_TRUE(add(push(1, {0, 6}, 0)));
  EXPECT_TRUE(add(push(2, {6, 8}, 0)));
  close();
  for (const HubNumber hub : {whole_model, 1U, 2U}) EXPECT_EQ(told(hub), (12 * 1.0F + 4 * 2.0F) / 16);
  EXPECT_TRUE(add(push(1, {0, 2}, 0)));
  EXPECT_TRUE(add(push(2, {2, 8}, -12)));
  close();
  EXPECT_EQ(told(whole_model), (2 * 1.25F + 6 * 2.25F) / 8) << "what was before they mixed does not count";
}

// Official code: weights among neighbours, renormalised. 1 - 2 - 3, with 2, 2 and 4 positions.
TEST_F(HubRuleTest, OnALineOnlyNeighboursMix) {
  use("mll:1:1:3:line");
  EXPECT_TRUE(add(push(1, {0, 2}, -4)));  // 2
  EXPECT_TRUE(add(push(2, {2, 4}, 0)));   // 1
  EXPECT_TRUE(add(push(3, {4, 8}, 16)));  // -1
  close();
  EXPECT_FLOAT_EQ(told(1), (2 * 2 + 2 * 1) / 4.0F);
  EXPECT_FLOAT_EQ(told(2), (2 * 2 + 2 * 1 + 4 * -1) / 8.0F) << "of what they were before any of them mixed";
  EXPECT_FLOAT_EQ(told(3), (2 * 1 + 4 * -1) / 6.0F);
  EXPECT_FLOAT_EQ(told(whole_model), (2 * told(1) + 2 * told(2) + 4 * told(3)) / 8);
}

TEST_F(HubRuleTest, AHubWithoutPositionsStandsStillUntilOthersReachIt) {
  use("mll:1:2:3:line");
  for (int round = 0; round < 2; ++round) {
    EXPECT_TRUE(add(push(3, {0, 8}, -16)));
    close();
    EXPECT_EQ(told(1), 1) << "neither it nor its neighbour has any";
    EXPECT_EQ(told(whole_model), round + 2) << "it has no weight";
  }
  EXPECT_EQ(told(2), 3) << "mixed with the third";
  EXPECT_EQ(told(3), 3);
}

TEST_F(HubRuleTest, ASliceThatIsOfNoRoundIsRefused) {
  use("mll:1:2:2");
  Push early = push(1, {0, 8}, 8);
  early.piece.round = 1;
  EXPECT_FALSE(rule->takes(early, slice));
  EXPECT_TRUE(rule->will_have({.version = 1}, slice));
  EXPECT_TRUE(rule->has({.version = 0, .hub = 2}, slice));
  EXPECT_FALSE(rule->has({.version = 1, .hub = 2}, slice));
}

// One hub, one slot: distributed SGD, bit for bit.
TEST_F(HubRuleTest, OneHubIsExactVersions) {
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
    EXPECT_EQ(told(1), plain.current().floats()[0]);
    EXPECT_EQ(told(whole_model), plain.current().floats()[0]);
  }
}

}  // namespace
}  // namespace steelyard::hub_rule_test
