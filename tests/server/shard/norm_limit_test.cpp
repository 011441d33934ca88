#include "server/shard/held_pushes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "nn/optimizer/vector.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::test::norm_limit_test {
namespace {

// A sum of four values; its mean over `weight` positions has this norm.
std::vector<float> of_norm(double norm, double weight) {
  return std::vector<float>(4, static_cast<float>(norm * weight / 2));
}
std::optional<double> refused(NormLimit& limit, const std::vector<float>& values, double weight,
                              std::size_t slice = 0) {
  const auto squares = [&] { return nn::sum_of_squares(values); };
  return limit.refused(slice, nn::all_finite(values), squares, weight);
}
double excess(NormLimit& limit, double norm, double weight = 8, std::size_t slice = 0) {
  return refused(limit, of_norm(norm, weight), weight, slice).value_or(0);
}

TEST(NormLimit, RefusesNormsBeyondTheLimitTimesTheMedian) {
  NormLimit limit(10, 2);
  for (const double norm : {1, 2, 3, 2, 1, 2, 3, 90})
    EXPECT_EQ(excess(limit, norm), 0) << "too few norms for a median";
  EXPECT_EQ(excess(limit, 20), 0) << "the limit itself is allowed; one large norm does not change the median";
  EXPECT_NEAR(excess(limit, 21), 10.5, 1e-6);
  EXPECT_NEAR(excess(limit, 1e6), 5e5, 1);
}

TEST(NormLimit, WeighsByPositions) {
  NormLimit limit(10, 1);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(excess(limit, 1, 64), 0);
  EXPECT_EQ(excess(limit, 9, 8), 0) << "allowed: 9 is below ten times the median";
  EXPECT_GT(excess(limit, 11, 8), 10);
}

TEST(NormLimit, EachSliceHasItsOwnMedian) {
  NormLimit limit(10, 2);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(excess(limit, 1, 8, 0), 0);
    EXPECT_EQ(excess(limit, 100, 8, 1), 0);
  }
  EXPECT_EQ(excess(limit, 100, 8, 1), 0);
  EXPECT_GT(excess(limit, 100, 8, 0), 0);
}

TEST(NormLimit, FollowsAcceptedNormsAndIgnoresRefusedOnes) {
  NormLimit limit(10, 1);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(excess(limit, 100), 0);
  for (int i = 0; i < 100; ++i) EXPECT_GT(excess(limit, 5000), 0);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(excess(limit, 1), 0);
  EXPECT_GT(excess(limit, 100), 0) << "old norms are forgotten";
}

TEST(NormLimit, AcceptsEverythingWithoutALimitOrANorm) {
  NormLimit off(0, 1), zeros(10, 1);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(excess(off, i == 39 ? 1e9 : 1), 0);
    EXPECT_EQ(excess(zeros, 0), 0);
  }
  EXPECT_EQ(excess(zeros, 1), 0);
}

TEST(NormLimit, NonFiniteValuesAreRefusedWithoutALimit) {
  NormLimit off(0, 1);
  EXPECT_EQ(refused(off, {1, INFINITY}, 8), 0);
  EXPECT_EQ(refused(off, {1, 2}, 8), std::nullopt);
}

TEST(NormLimit, AnExcessiveGradientIsReportedAndNotAdded) {
  Job job = shard_job();
  job.gradient_limit = 100;
  ShardCase it(job);
  it.load();
  for (Round round = 0; round < 8; ++round) {
    it.open(round, {8 * round, 8 * round + 8});
    it.finish(round, {8 * round, 8 * round + 8});
  }
  it.open(8, {64, 72});
  Push push = it.push(8, {64, 72}, 1);
  push.values = ShardCase::constant(push.values.floats().size(), 1e7F);
  it.deliver(worker_node(7), push);
  ASSERT_EQ(it.sent<GradientRejected>().size(), 1U);
  EXPECT_GT(it.sent<GradientRejected>()[0].excess, 100);
  EXPECT_EQ(it.shard.counts().refused, 1U);
  it.finish(8, {64, 72});
  EXPECT_EQ(it.shard.version(), 9U) << "a later correct push counts";
}

}  // namespace
}  // namespace steelyard::test::norm_limit_test
