#include "balancing/orchestra/actor_critic.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/error.h"

namespace steelyard::balancing::orchestra::actor_critic_test {
namespace {

using testing::DoubleEq;
using testing::Each;

// Two workers, one twice as quick, under a period given in mini-batches of the slower one.
BarrierView view_of(double period, std::uint64_t epoch) {
  const auto waiting = [&](double steps) { return (steps - std::floor(steps)) / steps; };
  return {{{period, waiting(period)}, {2 * period, waiting(2 * period)}}, 10 * epoch, 0.5};
}

// Runs the controller for `epochs`; returns the mean distance from the top over the last quarter. An epoch is
// rewarded if it was closer to the top than the one before, or at the top.
double distance_after(int epochs, std::uint64_t seed, double start, double top) {
  ActorCritic controller(seed);
  BarrierPeriod period(start, 0.01);
  double sum = 0, before = std::abs(start - top);
  for (int epoch = 0; epoch < epochs; ++epoch) {
    const double now = std::abs(period.longest_batches() - top);
    const int reward = now < before || now < 0.015 ? 1 : now == before ? 0 : -1;
    before = now;
    if (epoch >= epochs - epochs / 4) sum += now;
    period.move(
        controller.decide(view_of(period.longest_batches(), static_cast<std::uint64_t>(epoch)), reward));
  }
  return sum / (epochs / 4);
}

TEST(ActorCritic, AllActionsAreEquallyLikelyAtFirst) {
  const ActorCritic controller(1);
  EXPECT_THAT(controller.chances(view_of(2, 0)), Each(DoubleEq(1.0 / 3)));
}

TEST(ActorCritic, ApproachesTheBestPeriod) {
  for (const auto& [start, top] : {std::pair{1.2, 2.0}, {3.0, 2.0}}) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      const double end = distance_after(8000, seed, start, top);
      EXPECT_LT(end, std::abs(start - top)) << "seed " << seed << " from " << start;
      sum += end;
    }
    EXPECT_LT(sum / 5, std::abs(start - top) / 4) << "from " << start;
  }
}

// One action always gets +1, the others -1.
TEST(ActorCritic, RewardedActionsBecomeLikely) {
  for (const int rewarded : {-1, 0, 1}) {
    ActorCritic controller(7);
    int reward = 0;
    for (int epoch = 0; epoch < 2000; ++epoch) {
      reward = controller.decide(view_of(2, 100), reward) == rewarded ? 1 : -1;
    }
    EXPECT_GT(controller.chances(view_of(2, 100))[static_cast<std::size_t>(rewarded + 1)], 0.9) << rewarded;
  }
}

// The reward belongs to the decision before the last, which only the discount gamma can attribute.
TEST(ActorCritic, DelayedRewardsMakeActionsLikely) {
  ActorCritic controller(7);
  int last = 0, before = 0;
  for (int epoch = 0; epoch < 4000; ++epoch) {
    const int action = controller.decide(view_of(2, 100), before == 1 ? 1 : -1);
    before = last, last = action;
  }
  EXPECT_GT(controller.chances(view_of(2, 100))[2], 0.8);
}

TEST(ActorCritic, TheOrderOfTheWorkersDoesNotMatter) {
  ActorCritic controller(3);
  int reward = 0;
  for (std::uint64_t epoch = 0; epoch < 50; ++epoch) {
    reward = controller.decide(view_of(1.5, epoch), reward);
  }
  BarrierView view = view_of(1.7, 60);
  const std::vector<double> before = controller.chances(view);
  std::swap(view.workers[0], view.workers[1]);
  EXPECT_THAT(controller.chances(view), testing::Pointwise(testing::DoubleNear(1e-12), before));
}

TEST(ActorCritic, ARestoredControllerDecidesIdentically) {
  ActorCritic one(5);
  int reward = 0;
  for (std::uint64_t epoch = 0; epoch < 33; ++epoch) reward = one.decide(view_of(1.5, epoch), reward);
  StateWriter writer("t");
  writer(one);
  ActorCritic restored(5);
  StateReader reader(writer.str(), "t");
  reader(restored);
  reader.end();
  for (std::uint64_t epoch = 33; epoch < 133; ++epoch) {
    const BarrierView view = view_of(1.5, epoch);
    const int action = one.decide(view, reward);
    ASSERT_EQ(restored.decide(view, reward), action) << epoch;
    reward = action;
  }
  EXPECT_EQ(restored.chances(view_of(1.5, 0)), one.chances(view_of(1.5, 0)));
}

TEST(ActorCritic, StateOfAnotherNetworkIsRefused) {
  StateWriter writer("t");
  const std::vector<double> two{1, 2};
  writer.count(1)(two, two).count(0);
  ActorCritic controller(1);
  StateReader reader(writer.str(), "t");
  EXPECT_THROW(reader(controller), Failure);
}

}  // namespace
}  // namespace steelyard::balancing::orchestra::actor_critic_test
