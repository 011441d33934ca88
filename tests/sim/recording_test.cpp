#include "sim/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::sim::recording_test {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

TEST(Recordings, DifferentSharesGiveFixedAndPerSampleCost) {
  std::vector<MeasuredTime> rounds;
  for (const double share : {170, 170, 250, 290, 300, 299, 301, 300})
    rounds.push_back({share, 20 + 0.5 * share});
  EXPECT_THAT(fitted_line(rounds), ElementsAre(DoubleNear(20, 1e-9), DoubleNear(0.5, 1e-9)));
}

TEST(Recordings, EqualSharesGiveASpeed) {
  std::vector<MeasuredTime> rounds;
  for (int i = 0; i < 30; ++i) rounds.push_back({i % 2 == 0 ? 170.0 : 171.0, 90});
  EXPECT_THAT(fitted_line(rounds), ElementsAre(0, DoubleNear(90 / 170.5, 0.01)));
}

TEST(Recordings, RoundsWithoutSamplesAreIgnored) {
  const std::vector<MeasuredTime> rounds{{}, {10, 30}, {}, {20, 50}, {10, 60}};
  const std::vector<double> line{10, 2};
  EXPECT_THAT(recording_of(rounds, line).factors, ElementsAre(1, 1, 1, 1, 2));
  EXPECT_THAT(fitted_line(std::vector<MeasuredTime>{{}, {10, 30}, {}, {20, 50}}),
              ElementsAre(DoubleNear(10, 1e-9), DoubleNear(2, 1e-9)));
}

// A busy machine: noise, and every twentieth round takes three times as long.
TEST(Recordings, OutliersDoNotMoveTheLine) {
  Random random(3);
  std::vector<MeasuredTime> rounds;
  for (int i = 0; i < 2000; ++i) {
    const double share = 50 + std::floor(300 * random.uniform());
    const double ms = (10 + 0.2 * share) * (1 + 0.02 * random.normal());
    rounds.push_back({share, i % 20 == 0 ? 3 * ms : ms});
  }
  EXPECT_THAT(fitted_line(rounds), ElementsAre(DoubleNear(10, 3), DoubleNear(0.2, 0.015)));
}

// Half of the time, other processes use half of the machine, and the policy halves its share from the next
// round on. Over the whole run small shares take as long as large ones, but not from one round to the next.
TEST(Recordings, SharesThatFollowSpeedGiveNoFixedCost) {
  std::vector<MeasuredTime> rounds;
  const auto slow = [](int round) { return round / 10 % 2 == 1; };
  for (int i = 1; i < 200; ++i) {
    const double share = slow(i - 1) ? 96 + i % 2 * 8 : 200;
    rounds.push_back({share, (slow(i) ? 2 : 1) * (2 + 0.5 * share)});
  }
  const auto line = fitted_line(rounds);
  EXPECT_LT(line[0], 10);
  EXPECT_GT(line[1], 0.45);
}

TEST(Recordings, TimesThatDecreaseWithTheShareGiveASpeed) {
  const auto line = fitted_line(std::vector<MeasuredTime>{{100, 50}, {200, 40}, {300, 30}});
  EXPECT_EQ(line[0], 0);
  EXPECT_GT(line[1], 0);
}

TEST(Recordings, ReplayReproducesTheTimesInACycle) {
  const std::vector<MeasuredTime> rounds{{100, 60}, {200, 140}, {300, 130}};
  const auto line = fitted_line(rounds);
  const Recording recording = recording_of(rounds, line);
  for (std::uint64_t round = 0; round < 9; ++round) {
    const MeasuredTime& then = rounds[round % 3];
    EXPECT_NEAR(polynomial(line, then.samples) * recording.factor(round), then.ms, 1e-9);
  }
  EXPECT_EQ(Recording().factor(7), 1);
  EXPECT_EQ(Recording().trend(7), 1);
}

// A lasting change belongs to the trend, a single long round does not.
TEST(Recordings, TheTrendContainsLastingChangesOnly) {
  std::vector<MeasuredTime> rounds(40, {100, 50});
  for (std::size_t i = 20; i < 40; ++i) rounds[i].ms = 100;
  rounds[10].ms = 500;
  const std::vector<double> line{0, 0.5};
  const Recording recording = recording_of(rounds, line);
  EXPECT_DOUBLE_EQ(recording.factor(10), 10);
  EXPECT_DOUBLE_EQ(recording.trend(10), 1);
  EXPECT_DOUBLE_EQ(recording.trend(19), 1);
  EXPECT_DOUBLE_EQ(recording.trend(20), 2);
  EXPECT_DOUBLE_EQ(recording.trend(39), 2);
}

}  // namespace
}  // namespace steelyard::sim::recording_test
