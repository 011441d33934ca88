#include "sim/server_clock.h"

#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::server_clock_test {
namespace {

// Two workers compute 60 ms a round. A server needs 10 ms for a push and 5 ms for a step.
Scenario busy(const std::string& sync) {
  Scenario scenario = made(120, {{0, 1}, {0, 1}});
  scenario.sync = sync;
  scenario.server_times = {.push_ms = 10, .update_ms = 5};
  return scenario;
}
double total_s(const Scenario& scenario) { return simulate(scenario, 1.0).total_s(); }

TEST(ServerClock, APushTakesItsPartOfTheModel) {
  Job job;
  append(job.layout, "w", {6});
  job.layout.slice_size = 4;
  job.shards = 1;
  const ServerClock clock({.push_ms = 6, .update_ms = 1}, job, 1);
  const auto in = [](ToShard message) {
    return Envelope{{Role::worker, 3}, {Role::shard, 2}, Message(std::move(message))};
  };
  Push push;
  push.slice = 0;
  EXPECT_DOUBLE_EQ(clock.seconds_before(in(push)), 0.004);
  push.slice = 1;
  EXPECT_DOUBLE_EQ(clock.seconds_before(in(push)), 0.002);
  EXPECT_EQ(clock.seconds_before(in(Pull{})), 0);
}

// A round is over with the last report, so the servers' time counts in the following round.
TEST(ServerClock, ARoundAddsAllPushesAndOneStep) {
  Scenario scenario = busy("bsp");
  EXPECT_NEAR(total_s(scenario), 10 * 0.060 + 9 * (2 * 0.010 + 0.005), 1e-6);
  scenario.servers = 2;
  EXPECT_NEAR(total_s(scenario), 10 * 0.060 + 9 * (2 * 0.010 + 0.005) / 2, 1e-6) << "each has half the model";
  scenario.server_times = {};
  EXPECT_NEAR(total_s(scenario), 10 * 0.060, 1e-6);
}

// A slow transfer is simulated with several shards per server: they share the server's time.
TEST(ServerClock, TheNumberOfSimulatedShardsDoesNotMatter) {
  Scenario scenario = busy("bsp");
  scenario.network = {.bandwidth_gbps = 0.008, .model_mb = 1};  // 1000 ms: four shards
  const double with = simulate(scenario, 1.0).rounds.at(5).round_ms;
  scenario.server_times = {};
  EXPECT_NEAR(with - simulate(scenario, 1.0).rounds.at(5).round_ms, 25, 0.01);
}

// Modes that gather pushes take fewer steps. Without server times they all take the same time.
TEST(ServerClock, ModesDifferByTheirSteps) {
  const double asp = total_s(busy("asp")), gathered = total_s(busy("nsoft:1"));
  EXPECT_GT(asp, gathered);
  for (const char* sync : {"asp", "nsoft:1", "ksoft:2", "eager"}) {
    Scenario scenario = busy(sync);
    EXPECT_GT(total_s(scenario), 0.65) << sync;
    scenario.server_times = {};
    EXPECT_NEAR(total_s(scenario), 0.6, 1e-6) << sync;
  }
}

// Three workers of one server. ksoft-wait:3 is a round of bsp; under ksoft-wait:2 the slow worker delays no
// other, but its partner waits for it.
TEST(ServerClock, WorkersWaitForTheStepOfTheirPush) {
  Scenario scenario = made(120, {{0, 1}, {0, 1}, {0, 2}});
  scenario.server_times = {.push_ms = 1};
  scenario.sync = "ksoft-wait:3";
  const double all = total_s(scenario);
  EXPECT_NEAR(all, 10 * (0.080 + 0.001), 0.003);
  scenario.sync = "ksoft-wait:1";
  EXPECT_LT(total_s(scenario), 0.75 * all);
}

}  // namespace
}  // namespace steelyard::sim::server_clock_test
