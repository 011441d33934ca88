#include "sim/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "core/error.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim {
namespace {

using testing::HasSubstr;

TEST(Scenarios, RoundsFollowFromEpochsAndRounds) {
  Scenario scenario = made(512, {{1, 1}});
  scenario.samples_per_epoch = 50'000;
  scenario.rounds = 0;
  scenario.epochs = 2;
  EXPECT_EQ(count_rounds(scenario), 2 * 98U) << "97 whole ones and a short one";
  scenario.rounds = 120;
  EXPECT_EQ(count_rounds(scenario), 120U) << "whichever is over first";
  scenario.epochs = 0;
  EXPECT_EQ(count_rounds(scenario), 120U);
}

std::string trouble(const std::function<void(Scenario&)>& spoil) {
  Scenario scenario = made(100, {{10, 1}, {10, 1}});
  check_scenario(scenario);  // good before
  spoil(scenario);
  try {
    check_scenario(scenario);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return {};
}

TEST(Scenarios, WhatCannotBeSimulatedIsRefused) {
  EXPECT_THAT(trouble([](Scenario& it) { it.workers.clear(); }), HasSubstr("no worker"));
  EXPECT_THAT(trouble([](Scenario& it) { it.sync = "ssp"; }),
              HasSubstr("'ssp' does not exist; choose one of bsp"));
  EXPECT_THAT(trouble([](Scenario& it) { it.rounds = 0; }), HasSubstr("rounds"));
  EXPECT_THAT(trouble([](Scenario& it) { it.workers[1].time_ms = {5, -0.1}; }), HasSubstr("worker 'b'"));
  EXPECT_THAT(trouble([](Scenario& it) { it.workers[0].time_ms = {5, 1, -0.006}; }), HasSubstr("decrease"));
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

TEST(Scenarios, EventsThatMeanNothingAreRefused) {
  const auto refused = [](const std::function<void(Event&)>& spoil) {
    return trouble([&](Scenario& it) {
      it.events.push_back(on(0, 3, 9));
      it.events.back().scale = 2;
      spoil(it.events.back());
    });
  };
  EXPECT_EQ(refused([](Event&) {}), "");
  EXPECT_THAT(refused([](Event& it) { it.worker = 2; }), HasSubstr("names no worker"));
  EXPECT_THAT(refused([](Event& it) { it.to = 3; }), HasSubstr("ends before"));
  EXPECT_THAT(refused([](Event& it) { it.scale = 0; }), HasSubstr("positive"));
  EXPECT_THAT(refused([](Event& it) { it.shape = Shape::periodic; }), HasSubstr("period"));
  EXPECT_THAT(refused([](Event& it) { it.shape = Shape::bursty; }), HasSubstr("gap"));
  EXPECT_THAT(refused([](Event& it) {
                it.worker.reset();
                it.kill = true;
              }),
              HasSubstr("need a worker"));
}

}  // namespace
}  // namespace steelyard::sim
