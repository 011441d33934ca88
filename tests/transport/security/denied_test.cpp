#include "transport/security/peer_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::denied_test {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr NodeId left{Role::shard, 1}, right{Role::shard, 2};

Time at(double s) { return Time{from_seconds(s)}; }

TEST(Denied, EachReasonIsNewOnce) {
  Denied it;
  EXPECT_TRUE(it.add(left, "tcp://a", "no key", at(0)));
  EXPECT_FALSE(it.add(left, "tcp://a", "no key", at(2)));
  EXPECT_TRUE(it.add(left, "tcp://a", "another key", at(4)));
  EXPECT_TRUE(it.add(right, "tcp://b", "no key", at(4)));
  EXPECT_TRUE(it.has(left, "tcp://a"));
  EXPECT_FALSE(it.has(left, "tcp://elsewhere"));
  EXPECT_EQ(it.times(), 4U);
  EXPECT_TRUE(it.remove(left));
  EXPECT_FALSE(it.remove(left));
  EXPECT_TRUE(it.add(left, "tcp://a", "another key", at(5))) << "connected in between";
}

TEST(Denied, DeniedPeersAreRetriedWithPauses) {
  Denied it;
  EXPECT_EQ(it.deadline(), Time::max());
  it.add(left, "tcp://a", "no key", at(0));
  EXPECT_GT(it.deadline(), at(0));
  EXPECT_THAT(it.due(at(0.1)), IsEmpty());
  const auto trials = it.due(at(10));
  ASSERT_THAT(trials, SizeIs(1));
  EXPECT_EQ(trials[0].node, left);
  EXPECT_EQ(trials[0].endpoint, "tcp://a");
  EXPECT_THAT(it.due(at(20)), IsEmpty()) << "the trial is still in progress";
  it.add(left, "tcp://a", "no key", at(30));
  EXPECT_THAT(it.due(at(30.1)), IsEmpty());
  EXPECT_THAT(it.due(at(40)), SizeIs(1));
}

}  // namespace
}  // namespace steelyard::denied_test
