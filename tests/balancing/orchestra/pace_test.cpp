#include "balancing/orchestra/pace.h"

#include <gtest/gtest.h>

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

// Orchestra, section 3.1.3, with the hill-climb: sqrt(steps) are sqrt(1), sqrt(2), ...
TEST(Pace, MovesByTheGainOfAnEpoch) {
  Pace pace;
  pace.begin(2);
  play(pace, 1, 0.1, 10);
  EXPECT_DOUBLE_EQ(pace.longest_batches(), 2.01) << "nothing is known, so it takes a first step";
  play(pace, 2, 0.2, 10);
  EXPECT_DOUBLE_EQ(pace.longest_batches(), 2.01)
      << "the first gain sets the reference; the reward 0 moves nothing";
  play(pace, 3, 0.3, 10);
  EXPECT_DOUBLE_EQ(pace.longest_batches(), 2.02) << "the same gain after more steps";
  play(pace, 4, 0.4, 5);
  EXPECT_DOUBLE_EQ(pace.longest_batches(), 2.03) << "the same gain in half the time";
  play(pace, 5, 0.41, 5);
  EXPECT_DOUBLE_EQ(pace.longest_batches(), 2.02) << "hardly any gain";
}

// Weighted by positions, not by rounds: three quarters at 0.25 and one quarter at 0.4 gain less than 0.1 over
// 0.2, while the mean of the two rounds gains more.
TEST(Pace, AccuracyIsWeightedByPositions) {
  const auto moved = [](double first, double second) {
    Pace pace;
    pace.begin(2);
    pace.count_round(1);
    for (const double accuracy : {0.1, 0.2}) pace.ended({1, 100, accuracy, 1}), pace.next_epoch(workers);
    const double before = pace.longest_batches();
    pace.ended({3, 300, first, 0.5}), pace.ended({3, 100, second, 0.5});
    pace.next_epoch(workers);
    return pace.longest_batches() - before;
  };
  EXPECT_GT(moved(0.35, 0.35), 0);
  EXPECT_LT(moved(0.25, 0.40), 0);
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
  EXPECT_EQ(one.longest_batches(), other.longest_batches());
}

TEST(Pace, ContinuesFromSavedState) {
  for (const Controller controller : {Controller::hill_climb, Controller::actor_critic}) {
    Pace pace({controller, 7, 0.05});
    pace.begin(3);
    for (std::uint64_t epoch = 1; epoch < 8; ++epoch) play(pace, epoch, 0.1 * static_cast<double>(epoch), 10);
    pace.ended({8, 400, 0.75, 3});
    StateWriter writer("t");
    writer(pace);
    Pace restored({controller, 7, 0.05});
    StateReader reader(writer.str(), "t");
    reader(restored);
    reader.end();
    for (std::uint64_t epoch = 8; epoch < 40; ++epoch) {
      const double accuracy = 1 - 1.0 / static_cast<double>(epoch);
      for (Pace* each : {&pace, &restored}) play(*each, epoch, accuracy, 10);
      ASSERT_EQ(restored.longest_batches(), pace.longest_batches());
    }
    StateReader again(writer.str(), "t");
    const auto other = static_cast<Controller>(1 - static_cast<int>(controller));
    EXPECT_ANY_THROW(again(Pace({other, 7, 0.05}))) << "accepted the state of another controller";
  }
}

}  // namespace
}  // namespace steelyard::balancing::orchestra::pace_test
