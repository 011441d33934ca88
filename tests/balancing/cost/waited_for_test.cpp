#include "balancing/cost/exchange_cost.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::balancing::waited_for_test {
namespace {

// Every twentieth round (on average) is interrupted for an exponential time of mean 1 s.
WaitedFor after(int rounds, std::uint64_t seed) {
  Random random(seed);
  WaitedFor waited;
  for (int i = 0; i < rounds; ++i) {
    waited.observe(random.uniform() < 0.05 ? -std::log(1 - random.uniform()) : 0, 0);
  }
  return waited;
}

TEST(WaitedFor, NeedsMoreThanThirtyRounds) {
  WaitedFor waited;
  for (int i = 0; i < 30; ++i) waited.observe(1, 0);
  EXPECT_EQ(waited.surely(), 0);
  for (int i = 0; i < 30; ++i) waited.observe(1, 0);
  EXPECT_NEAR(waited.surely(), 1, 1e-6);
}

TEST(WaitedFor, ApproachesTheMeanFromBelow) {
  double early = 0, late = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    early += after(60, seed).surely() / 100, late += after(3000, seed).surely() / 100;
  }
  EXPECT_LT(early, late);
  EXPECT_GT(late, 0.025);
  EXPECT_LT(late, 0.05);
}

TEST(WaitedFor, OneLongWaitDoesNotCount) {
  WaitedFor waited;
  for (int i = 0; i < 100; ++i) waited.observe(i == 50 ? 1000 : 0, 0);
  EXPECT_EQ(waited.surely(), 0);
}

TEST(WaitedFor, DoubtLowersCertaintyAndKeepsTheMean) {
  WaitedFor waited;
  for (int i = 0; i < 400; ++i) waited.observe(i % 2, 3);
  const double before = waited.surely();
  waited.doubt();
  EXPECT_LT(waited.surely(), before);
  EXPECT_GT(waited.surely(), 0.3);
  EXPECT_NEAR(waited.worth(), 3, 1e-9);
}

}  // namespace
}  // namespace steelyard::balancing::waited_for_test
