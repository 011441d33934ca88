#include "balancing/policy/dlb.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "core/random.h"
#include "tests/balancing/arena.h"

namespace steelyard::balancing::dlb_test {
namespace {

using arena::Round;
using arena::Scenario;
using testing::Each;
using testing::ElementsAre;

Scenario speeds(std::uint64_t positions, std::uint64_t rounds, const std::vector<double>& per_second) {
  std::vector<arena::Machine> machines;
  for (const double speed : per_second) machines.push_back({{0, 1000 / speed}, DeviceKind::gpu, 0});
  return {"", positions, rounds, machines};
}

// DLB (Ye et al. 2023; survey of LB-BSP, DLB and LBB, eq. 2 and 3 with the factor X), by largest remainder:
// 512 by speeds 100:80:40:20.
TEST(Dlb, SharesFollowSpeedAfterOneEpoch) {
  Dlb dlb({.rounds = 10});
  const std::vector<Round> rounds = arena::play(speeds(512, 21, {100, 80, 40, 20}), dlb);
  for (std::size_t k = 0; k < 10; ++k) EXPECT_THAT(rounds[k].shares, Each(128u)) << "round " << k + 1;
  for (std::size_t k = 10; k < 21; ++k) EXPECT_THAT(rounds[k].shares, ElementsAre(213, 171, 85, 43));
}

// DLB, the survey's example of the rounding: 13.7, 16.5, 19.6 and 14.2 of 64.
TEST(Dlb, RoundsByLargestRemainder) {
  Dlb dlb({.rounds = 1});
  EXPECT_THAT(arena::play(speeds(64, 2, {13.7, 16.5, 19.6, 14.2}), dlb)[1].shares,
              ElementsAre(14, 16, 20, 14));
}

// DLB's released code rounds up only fractions of at least one half, so three equal workers would train with
// 63 of 64 samples.
TEST(Dlb, ThreeEqualWorkersLoseNoSample) {
  Dlb dlb({.rounds = 1});
  EXPECT_THAT(arena::play(speeds(64, 5, {1, 1, 1}), dlb).back().shares, ElementsAre(22, 21, 21));
}

TEST(Dlb, RequestsDetermineWhereEpochsEnd) {
  Dlb dlb({.rounds = 1});
  Request request{1, 90, {{.slot = 0}, {.slot = 1}}, 1};
  for (std::uint64_t round = 1; round <= 5; ++round) {
    request.round = round;
    EXPECT_THAT(dlb.plan(request), Each(45u));
    dlb.observe({0, round, 45, 1}), dlb.observe({1, round, 45, 2});
  }
  request.epoch = 2, request.round = 6;
  EXPECT_THAT(dlb.plan(request), ElementsAre(60, 30));
}

// DLB, the slowdown injector of the released code: with probability 0.1 per epoch, a worker becomes slow for
// 4 to 20 epochs. DLB reacts one epoch late and is still faster than an equal split.
TEST(Dlb, BeatsEqualUnderTheInjectorOfTheReleasedCode) {
  constexpr std::uint64_t rounds = 5, epochs = 100;
  Scenario scenario("", 512, rounds * epochs, std::vector<arena::Machine>(4, {{5, 0.5}}), 9);
  Random random(9);
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
      if (random.below(10) != 0) continue;
      const std::uint64_t length = 4 + random.below(17);
      scenario.add(slot, 1 + epoch * rounds, 1 + (epoch + length) * rounds, 50 + 50 * random.uniform());
      epoch += length;
    }
  }
  Dlb dlb({.rounds = rounds});
  EXPECT_GT(arena::percent_of_ideal(scenario, dlb), arena::percent_of_ideal(scenario, "equal") + 5);
}

}  // namespace
}  // namespace steelyard::balancing::dlb_test
