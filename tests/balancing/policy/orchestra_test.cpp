#include "balancing/policy/orchestra.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/balancing/arena.h"

namespace steelyard::balancing::orchestra_test {
namespace {

using arena::Round;
using arena::Scenario;
using testing::Each;
using testing::ElementsAre;

Scenario machines(std::uint64_t positions, std::uint64_t rounds, const std::vector<double>& ms) {
  std::vector<arena::Machine> all;
  for (const double each : ms) all.push_back({{0, each}, DeviceKind::gpu, 0});
  return {"", positions, rounds, all};
}

// Orchestra (Du, Huang, Xiang 2022): t = (2, 3) has T* = 6 and tau = (3, 2).
TEST(Orchestra, SharesFollowTheStepsToTheBarrier) {
  Orchestra policy;
  const std::vector<Round> rounds = arena::play(machines(100, 5, {2, 3}), policy);
  EXPECT_THAT(rounds[0].shares, Each(50u));
  for (std::size_t k = 1; k < 5; ++k) EXPECT_THAT(rounds[k].shares, ElementsAre(60, 40));
}

// Whole mini-batches only approximate speeds: t = (1, 1.9) and M = 2 give T = 2 at best, tau = (2, 1).
TEST(Orchestra, SharesFollowWholeMiniBatches) {
  Orchestra policy({.search = {.most_apart = 2}});
  EXPECT_THAT(arena::play(machines(90, 3, {1, 1.9}), policy).back().shares, ElementsAre(60, 30));
}

TEST(Orchestra, SharesChangeOncePerEpoch) {
  Orchestra policy;
  Request request{1, 90, {{.slot = 0}, {.slot = 1}}, 1};
  const auto play = [&](double first, double second) {
    const std::vector<std::uint64_t> shares = policy.plan(request);
    policy.observe({0, request.round, shares[0], first * static_cast<double>(shares[0])});
    policy.observe({1, request.round, shares[1], second * static_cast<double>(shares[1])});
    ++request.round;
    return shares;
  };
  EXPECT_THAT(play(1, 2), Each(45u));
  EXPECT_THAT(play(2, 1), ElementsAre(60, 30));
  EXPECT_THAT(play(2, 1), ElementsAre(60, 30)) << "still the same epoch";
  request.epoch = 2;
  EXPECT_THAT(play(2, 1), ElementsAre(30, 60));
}

TEST(Orchestra, NewWorkersAreMeasuredFirst) {
  Orchestra policy;
  Request request{1, 90, {{.slot = 0}, {.slot = 1}}, 1};
  for (std::uint32_t slot : {0u, 1u}) policy.observe({slot, 1, 45, slot + 1.0});
  EXPECT_THAT(policy.plan(request), Each(45u)) << "the times are from a round that it did not divide";
  for (std::uint32_t slot : {0u, 1u}) policy.observe({slot, 2, 45, slot + 1.0});
  request.round = 3;
  EXPECT_THAT(policy.plan(request), ElementsAre(60, 30));
  request.workers.push_back({.slot = 2}), request.round = 4;
  EXPECT_THAT(policy.plan(request), ElementsAre(40, 20, 30));
  for (std::uint32_t slot : {0u, 1u}) policy.observe({slot, 4, 40 - 20 * slot, 40});
  policy.observe({2, 4, 30, 120}), request.round = 5;
  EXPECT_THAT(policy.plan(request), ElementsAre(51, 26, 13)) << "4 : 2 : 1";
}

// t = (2, 3): T = 6, tau = (3, 2); rounds of any length are divided in that proportion.
TEST(OrchestraPace, StepsEndBeforeACommonBarrier) {
  Orchestra policy;
  Request request{1, 16, {{.slot = 0}, {.slot = 1}}, 1};
  EXPECT_THAT(policy.steps(request), ElementsAre(1, 1));
  EXPECT_THAT(policy.plan(request), ElementsAre(8, 8));
  policy.observe({0, 1, 8, 2}), policy.observe({1, 1, 8, 3});
  request.round = 2;
  EXPECT_THAT(policy.steps(request), ElementsAre(3, 2));
  request.positions = 40;
  EXPECT_THAT(policy.plan(request), ElementsAre(24, 16));
  request.positions = 15;
  EXPECT_THAT(policy.plan(request), ElementsAre(9, 6));
}

// The workers are alike, so with a unit of one mini-batch every move changes the steps.
TEST(OrchestraPace, EpochsMoveTheBarrierByWholeSteps) {
  for (const bool with_accuracy : {true, false}) {
    Orchestra policy;
    std::set<std::uint64_t> seen;
    Request request{0, 16, {{.slot = 0}, {.slot = 1}}, 0};
    for (std::uint64_t epoch = 1; epoch <= 30; ++epoch) {
      request.epoch = epoch;
      for (int i = 0; i < 2; ++i, ++request.round) {
        const std::vector<std::uint64_t> steps = policy.steps(request);
        EXPECT_EQ(steps[0], steps[1]);
        seen.insert(steps[0]);
        request.positions = 8 * (steps[0] + steps[1]);
        policy.plan(request);
        for (std::uint32_t slot : {0u, 1u})
          policy.observe({slot, request.round, 8 * steps[slot], static_cast<double>(steps[slot])});
        policy.ended({epoch, request.positions, with_accuracy ? 0.03 * static_cast<double>(epoch) : 0,
                      1 / static_cast<double>(steps[0])});
      }
    }
    EXPECT_EQ(*seen.begin(), 1u);
    EXPECT_EQ(seen.size(), with_accuracy ? *seen.rbegin() : 1u) << "no step is left out";
    EXPECT_EQ(seen.size() > 1, with_accuracy);
  }
}

TEST(OrchestraPace, NewWorkersCountAsTheMeanUntilTheyAreMeasured) {
  Orchestra policy;
  Request request{1, 16, {{.slot = 0}, {.slot = 2}}, 1};
  policy.steps(request), policy.plan(request);
  policy.observe({0, 1, 8, 1}), policy.observe({2, 1, 8, 3});
  request.round = 2;
  EXPECT_THAT(policy.steps(request), ElementsAre(3, 1));
  request.workers.insert(request.workers.begin() + 1, {.slot = 1});
  request.round = 3;
  EXPECT_THAT(policy.steps(request), ElementsAre(3, 2, 1));
  policy.observe({0, 3, 24, 3}), policy.observe({1, 3, 16, 2}), policy.observe({2, 3, 8, 3});
  request.round = 4;
  EXPECT_THAT(policy.steps(request), ElementsAre(3, 3, 1)) << "it is as quick as slot 0";
}

TEST(OrchestraPace, RestoresInTheMiddleOfAnEpoch) {
  Orchestra policy;
  std::vector<Orchestra> others;
  Request request{0, 16, {{.slot = 0}, {.slot = 1}}, 1};
  const auto play = [&](Orchestra& it) {
    const std::vector<std::uint64_t> steps = it.steps(request);
    it.plan(request);
    for (std::uint32_t slot : {0u, 1u})
      it.observe(
          {slot, request.round, 8 * steps[slot], (1 + 1.37 * slot) * static_cast<double>(steps[slot])});
    it.ended(
        {request.epoch, 8 * (steps[0] + steps[1]), 1 - 1 / (2.0 + static_cast<double>(request.round)), 1});
    return steps;
  };
  for (; request.round < 100; ++request.round) {
    request.epoch = 1 + request.round / 4;
    const std::vector<std::uint64_t> steps = play(policy);
    for (Orchestra& other : others) ASSERT_EQ(play(other), steps);
    if (request.round % 13 == 0) others.emplace_back().restore(policy.save());
  }
  for (Orchestra& other : others) EXPECT_EQ(other.save(), policy.save());
}

}  // namespace
}  // namespace steelyard::balancing::orchestra_test
