#include "balancing/orchestra/pace.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::balancing::orchestra::pace_test {
namespace {

const std::vector<BarrierView::Worker> workers{{3, 0}, {2, 0.1}};

// One whole epoch of two rounds, of which the first has three quarters of the positions.
void play(Pace& pace, std::uint64_t epoch, double accuracy, double seconds) {
  pace.ended({epoch, 300, accuracy + (accuracy > 0 ? 0.01 : 0), seconds / 2});
  pace.ended({epoch, 100, accuracy - (accuracy > 0 ? 0.03 : 0), seconds / 2});
  pace.count_round(1);
  pace.next_epoch(workers);
}

std::string state_of(Pace& pace) {
  StateWriter writer("t");
  writer(pace);
  return writer.str();
}

TEST(Pace, MovesByAMiniBatchOncePerEpoch) {
  Pace pace;
  pace.begin(2.25);
  bool moved = false;
  for (std::uint64_t epoch = 1; epoch <= 40; ++epoch) {
    const double before = pace.longest_batches();
    play(pace, epoch, 1 - 1 / (1.0 + static_cast<double>(epoch)), 10);
    const double move = std::abs(pace.longest_batches() - before);
    EXPECT_TRUE(move == 0 || std::abs(move - 1) < 1e-9 || pace.longest_batches() == 1) << move;
    moved = moved || move > 0;
  }
  EXPECT_TRUE(moved);
}

// The mean T of several seeds after `epochs`. An exchange takes as long as five mini-batches of the slowest
// worker. The accuracy approaches 0.45, less `cost` for each doubling of T, with some noise.
double period_after(std::uint64_t epochs, double cost) {
  double sum = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Pace pace({.seed = seed});
    Random random(seed);
    for (std::uint64_t epoch = 1; epoch <= epochs; ++epoch) {
      const double period = pace.longest_batches(), passed = static_cast<double>(epoch);
      const double accuracy =
          0.45 - 0.35 * std::exp(-passed / 30) - cost * std::log2(period) + 0.002 * random.normal();
      pace.count_round(period);
      pace.ended({epoch, 1000, accuracy, 100 * (period + 5) / period});
      pace.next_epoch({{4 * period, 0}, {period, 0}});
    }
    sum += pace.longest_batches();
  }
  return sum / 20;
}

TEST(Pace, GrowsAwayFromASlowExchange) { EXPECT_GT(period_after(60, 0), 8); }

TEST(Pace, FallsIfLongRoundsCostAccuracy) {
  const double cost = 0.014, top = period_after(20, cost);
  EXPECT_GT(top, 2) << "while the accuracy rises";
  EXPECT_LT(period_after(200, cost), top / 1.5) << "when it stalls";
}

// Weighted by positions, not by rounds: 300 at 0.3 and 100 at 0.1 are as good as 400 at 0.25.
TEST(Pace, AccuracyIsWeightedByPositions) {
  const auto after = [](double first, double second) {
    Pace pace;
    pace.begin(2);
    pace.count_round(1);
    for (const double accuracy : {0.125, 0.1875}) pace.ended({1, 100, accuracy, 1}), pace.next_epoch(workers);
    pace.ended({3, 300, first, 0.5}), pace.ended({3, 100, second, 0.5});
    pace.next_epoch(workers);
    return state_of(pace);
  };
  EXPECT_EQ(after(0.3125, 0.0625), after(0.25, 0.25));
  EXPECT_NE(after(0.3125, 0.1875), after(0.25, 0.25)) << "the mean of the two rounds";
}

TEST(Pace, NothingMovesWithoutAccuracy) {
  Pace pace;
  pace.begin(2);
  for (std::uint64_t epoch = 1; epoch < 9; ++epoch) play(pace, epoch, 0, 10);
  EXPECT_DOUBLE_EQ(pace.longest_batches(), 2);
}

// Rounds of an epoch without a call of next_epoch() do not count for the next epoch.
TEST(Pace, AnEpochIsForgottenWhenTheNextStarts) {
  Pace one, other;
  for (Pace* pace : {&one, &other}) pace->begin(2), play(*pace, 1, 0.1, 10);
  other.ended({2, 400, 0.2, 1e6});
  one.ended({2, 400, 0.2, 1});
  for (Pace* pace : {&one, &other}) play(*pace, 3, 0.3, 10), play(*pace, 4, 0.4, 1000);
  EXPECT_EQ(state_of(one), state_of(other));
}

TEST(Pace, ContinuesFromSavedState) {
  Pace pace({7, 0.5});
  pace.begin(3);
  for (std::uint64_t epoch = 1; epoch < 8; ++epoch) play(pace, epoch, 0.1 * static_cast<double>(epoch), 10);
  pace.ended({8, 400, 0.75, 3});
  Pace restored({7, 0.5});
  const std::string state = state_of(pace);
  StateReader reader(state, "t");
  reader(restored);
  reader.end();
  for (std::uint64_t epoch = 8; epoch < 40; ++epoch) {
    const double accuracy = 1 - 1.0 / static_cast<double>(epoch);
    for (Pace* each : {&pace, &restored}) play(*each, epoch, accuracy, 10);
    ASSERT_EQ(restored.longest_batches(), pace.longest_batches());
  }
}

}  // namespace
}  // namespace steelyard::balancing::orchestra::pace_test
