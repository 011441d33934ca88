#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::scenario_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Scenarios, TheNumberOfRoundsFollowsFromEpochsAndRounds) {
  Scenario scenario = made(512, {{1, 1}});
  scenario.samples_per_epoch = 50'000;
  scenario.rounds = 0;
  scenario.epochs = 2;
  EXPECT_EQ(count_rounds(scenario), 2 * 98U) << "97 full rounds and a short one";
  scenario.rounds = 120;
  EXPECT_EQ(count_rounds(scenario), 120U) << "the smaller limit counts";
  scenario.epochs = 0;
  EXPECT_EQ(count_rounds(scenario), 120U);
}

std::string trouble(const std::function<void(Scenario&)>& spoil) {
  Scenario scenario = made(100, {{10, 1}, {10, 1}});
  check_scenario(scenario);  // valid before the change
  spoil(scenario);
  try {
    check_scenario(scenario);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return {};
}

TEST(Scenarios, InvalidScenariosAreRefused) {
  EXPECT_THAT(trouble([](Scenario& it) { it.workers.clear(); }), HasSubstr("no worker"));
  EXPECT_THAT(trouble([](Scenario& it) { it.sync = "ssp"; }),
              HasSubstr("'ssp' does not exist; choose one of bsp"));
  EXPECT_THAT(trouble([](Scenario& it) { it.rounds = 0; }), HasSubstr("rounds"));
  EXPECT_THAT(trouble([](Scenario& it) { it.workers[1].time_ms = {5, -0.1}; }), HasSubstr("worker 'b'"));
  EXPECT_THAT(trouble([](Scenario& it) {
                it.workers[0].time_ms = {5, -1e-3, 0, 0, 1e-5};
              }),
              HasSubstr("decreases from the first sample on"));
  EXPECT_THAT(trouble([](Scenario& it) {
                it.workers[0].time_ms = {-5, 0.01, 0, 0, -1e-9};
              }),
              HasSubstr("positive"));
  EXPECT_THAT(trouble([](Scenario& it) { it.workers[0].time_ms = {0}; }), HasSubstr("positive"));
  EXPECT_THAT(trouble([](Scenario& it) {
                for (const std::size_t worker : {0, 1}) {
                  it.events.push_back(on(worker, 3, 9));
                  it.events.back().join = true;
                }
              }),
              HasSubstr("joins later"));
  EXPECT_THAT(trouble([](Scenario& it) { it.workers[1].name = "a"; }),
              HasSubstr("two workers are named 'a'"));
}

// Worker a is killed in round 3 and worker b in round 5; they return in the rounds given.
std::string both_killed(Round a_back, Round b_back, const std::string& sync = "bsp") {
  return trouble([&](Scenario& it) {
    it.sync = sync;
    it.events = {on(0, 3, a_back), on(1, 5, b_back)};
    for (Event& event : it.events) event.kill = true;
  });
}

// Cubics fitted to smaller batches may decrease beyond them. A note names each worker that may get such a
// batch.
TEST(Scenarios, AFallingCubicIsHeldAndNoted) {
  Scenario scenario =
      made(100, {{5, 1, -0.0065}, {5, 1}, {5, 1, -0.0065}, {5, 1, -0.0065}, {9, 1, 0, -1.1e-4}});
  check_scenario(scenario);
  const Device& falls = scenario.workers[0];
  EXPECT_DOUBLE_EQ(falls.own_ms(20), 22.4);
  EXPECT_DOUBLE_EQ(falls.own_ms(100), falls.own_ms(1 / 0.013));
  EXPECT_DOUBLE_EQ(falls.own_ms(90), falls.own_ms(100));
  EXPECT_THAT(
      notes_on(scenario),
      ElementsAre("worker 'a': time_ms falls beyond a batch of 77: larger ones take 43.46 ms like it",
                  "worker 'c': time_ms falls beyond a batch of 77: larger ones take 43.46 ms like it",
                  "worker 'e': time_ms falls beyond a batch of 55: larger ones take 45.70 ms like it"));
  scenario.workers[0].max_batch = 77;
  scenario.workers[2].max_batch = 60;
  scenario.workers[3].max_batch = 60;
  EXPECT_THAT(notes_on(scenario), ElementsAre(HasSubstr("worker 'e'")));
}

TEST(Scenarios, ARoundWithoutWorkersIsRefused) {
  constexpr Round never = UINT64_MAX;
  EXPECT_THAT(both_killed(never, never), HasSubstr("no worker is present in round 5"));
  EXPECT_THAT(both_killed(never, 8), HasSubstr("round 5")) << "no round ends, so round 8 never comes";
  EXPECT_THAT(both_killed(7, never), HasSubstr("round 5"));
  EXPECT_EQ(both_killed(6, never), "") << "the worker returns during round 5";
  EXPECT_EQ(both_killed(never, 6), "");
  EXPECT_EQ(both_killed(5, 9), "");
  EXPECT_EQ(both_killed(12, 13), both_killed(never, never)) << "after the last round";
  EXPECT_EQ(trouble([](Scenario& it) {
              it.events = {on(0, 3, never), on(1, 12, never)};
              for (Event& event : it.events) event.kill = true;
            }),
            "");
  EXPECT_THAT(trouble([](Scenario& it) {
                it.events = {on(0, 3, never), on(1, 5, never)};
                it.events[0].kill = it.events[1].join = true;
              }),
              HasSubstr("round 3"));
}

TEST(Scenarios, LongRoundsSeeEventsOfTheirLastBatch) {
  EXPECT_EQ(both_killed(UINT64_MAX, 8, "local:4"), "") << "batches 4 to 7 form one round";
  EXPECT_THAT(both_killed(UINT64_MAX, 9, "local:4"), HasSubstr("no worker is present in round 7"));
  EXPECT_EQ(both_killed(UINT64_MAX, 10, "oneshot:epoch"), "");
  EXPECT_THAT(both_killed(UINT64_MAX, 11, "oneshot:end"), HasSubstr("round 9"));
}

TEST(Scenarios, ATargetAccuracyAllowsRoundsWithoutWorkers) {
  EXPECT_EQ(trouble([](Scenario& it) {
              it.target_accuracy = 0.9;
              it.events = {on(0, 3, UINT64_MAX), on(1, 5, UINT64_MAX)};
              for (Event& event : it.events) event.kill = true;
            }),
            "");
}

TEST(Scenarios, InvalidEventsAreRefused) {
  const auto refused = [](const std::function<void(Event&)>& spoil) {
    return trouble([&](Scenario& it) {
      it.events.push_back(on(0, 3, 9));
      it.events.back().scale = 2;
      spoil(it.events.back());
    });
  };
  EXPECT_EQ(refused([](Event&) {}), "");
  EXPECT_THAT(refused([](Event& it) { it.worker = 2; }), HasSubstr("names a worker that does not exist"));
  EXPECT_THAT(refused([](Event& it) { it.to = 3; }), HasSubstr("ends before"));
  EXPECT_THAT(refused([](Event& it) { it.scale = 0; }), HasSubstr("positive"));
  EXPECT_THAT(refused([](Event& it) { it.memory = 0; }), HasSubstr("memory"));
  EXPECT_THAT(refused([](Event& it) { it.shape = Shape::periodic; }), HasSubstr("period"));
  EXPECT_THAT(refused([](Event& it) { it.shape = Shape::bursty; }), HasSubstr("gap"));
  EXPECT_THAT(refused([](Event& it) {
                it.worker.reset();
                it.kill = true;
              }),
              HasSubstr("need a worker"));
}

}  // namespace
}  // namespace steelyard::sim::scenario_test
