#include "balancing/cost/cost_filter.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace steelyard::balancing::level_test {
namespace {

// Level after times around 2 s with this noise and a random walk of this deviation per round.
Level after(int rounds, double noise, double walk, double* truth = nullptr) {
  Random random(7);
  Level level(2, {});
  double log_seconds = std::log(2.0);
  for (int k = 1; k <= rounds; ++k) {
    log_seconds += walk * random.normal();
    level.follow(std::exp(log_seconds + noise * random.normal()), k + 1);
  }
  if (truth != nullptr) *truth = std::exp(log_seconds);
  return level;
}

TEST(Level, AveragesAQuietMachine) {
  const Level level = after(300, 0.05, 0);
  EXPECT_NEAR(level.seconds(), 2, 0.03);
  EXPECT_LT(level.drift(), 0.1 * level.noise());
  EXPECT_NEAR(level.noise(), 0.05, 0.02);
  EXPECT_LT(level.doubt(), 0.02);
}

TEST(Level, FollowsADriftingMachine) {
  double truth = 0;
  const Level level = after(300, 0.004, 0.06, &truth);
  EXPECT_GT(level.drift(), level.noise());
  EXPECT_NEAR(std::log(level.seconds() / truth), 0, 0.1);
}

TEST(Level, AJumpMovesTheLevelAlmostFully) {
  Level level = after(300, 0.02, 0);
  const double noise = level.noise();
  level.jump(6);
  EXPECT_NEAR(level.seconds(), 6, 0.1);
  EXPECT_EQ(level.noise(), noise);
}

TEST(Level, AShiftMovesTheLevelAndAddsItsDoubt) {
  Level level = after(300, 0.02, 0);
  const double seconds = level.seconds();
  level.shift(std::log(2.0), 0.3);
  EXPECT_NEAR(level.seconds(), 2 * seconds, 1e-9);
  EXPECT_GT(level.doubt(), 0.3);
}

TEST(Level, StateRoundTrips) {
  const Level level = after(20, 0.05, 0.02);
  StateWriter writer("level");
  writer(level);
  StateReader reader(writer.str(), "level");
  Level restored(1, {});
  reader(restored);
  reader.end();
  EXPECT_EQ(restored.seconds(), level.seconds());
  EXPECT_EQ(restored.doubt(), level.doubt());
  EXPECT_EQ(restored.noise(), level.noise());
}

// Levels from which a policy would compute an empty share or no share.
TEST(Level, StateOutOfRangeIsRefused) {
  for (const double log_seconds : {-6e15, -1000.0, 1000.0}) {
    StateWriter writer("level");
    for (int average = 0; average < 2; ++average) writer.real(log_seconds).real(0.1).real(0.1);
    writer.count(0).real(0.02);
    StateReader reader(writer.str(), "level");
    Level restored(1, {});
    EXPECT_THROW(reader(restored), Failure) << log_seconds;
  }
}

}  // namespace
}  // namespace steelyard::balancing::level_test
