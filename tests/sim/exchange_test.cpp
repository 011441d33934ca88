// The cost of an exchange, from milliseconds to minutes: a slow transfer causes no resends.
#include <gtest/gtest.h>

#include "sim/simulation.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::exchange_test {
namespace {

std::vector<double> round_times(Scenario scenario, const std::string& sync = "bsp") {
  scenario.sync = sync;
  std::vector<double> ms;
  for (const RoundResult& round : simulate(scenario, 1.0).rounds) ms.push_back(round.round_ms);
  return ms;
}

// Reports do not wait for the transfer of gradients, so the first round contains only the transfer of its
// parameters.
TEST(Exchange, ARoundTakesItsComputeAndBothTransfers) {
  for (const double mb : {0.1, 6.0, 60.0, 110.0, 180.0, 500.0, 2000.0, 22500.0}) {  // 1 Gbit/s: up to 180 s
    for (const std::uint32_t servers : {1U, 3U}) {
      Scenario scenario = made(64, {{5, 0.5}, {5, 0.5}});
      scenario.servers = servers;
      scenario.network = {.bandwidth_gbps = 1, .model_mb = mb};
      const std::vector<double> ms = round_times(scenario);
      ASSERT_EQ(ms.size(), 10U);
      EXPECT_NEAR(ms[0], 21 + 8 * mb, 1e-3) << mb;
      for (std::size_t k = 1; k < ms.size(); ++k) EXPECT_NEAR(ms[k], 21 + 2 * 8 * mb, 1e-3) << mb << " " << k;
    }
  }
}

TEST(Exchange, AFixedExchangeMayExceedAllTimeouts) {
  Scenario scenario = made(64, {{5, 0.5}, {5, 0.5}});
  for (const double step : {1500.0, 30'000.0, 300'000.0}) {
    scenario.network.step_ms = step;
    for (const double ms : round_times(scenario)) EXPECT_NEAR(ms, 21 + step, 1e-3);
  }
}

// Without waiting for other workers, a step takes its compute, its push and its pull; prefetched parameters
// are used.
TEST(Exchange, AsynchronousStepsPullOnce) {
  Scenario scenario = made(64, {{5, 0.5}, {5, 0.5}});
  for (const double mb : {6.0, 180.0}) {
    scenario.network = {.bandwidth_gbps = 1, .model_mb = mb};
    for (const char* sync : {"ssp:1", "ssp:3", "asp"}) {
      const std::vector<double> ms = round_times(scenario, sync);
      for (std::size_t k = 1; k < ms.size(); ++k) EXPECT_LT(ms[k], 21 + 2 * 8 * mb + 1) << sync << " " << k;
    }
  }
}

// Equal links get equal estimates, whichever worker pushes last; otherwise shares would follow the order of
// reports.
TEST(Exchange, ThePushOrderDoesNotAffectLinkEstimates) {
  Scenario scenario = made(2048, {{55, 0.37}, {42, 0.35}, {87, 0.1}, {36, 0.3}});
  scenario.policy = "steelyard";
  scenario.rounds = 60;
  scenario.samples_per_epoch = 2048 * scenario.rounds;
  scenario.network = {.bandwidth_gbps = 1, .model_mb = 45};
  EXPECT_GT(simulate(scenario).percent_of_ideal(), 98);
}

// Both ends are notified of the broken connection, so no node waits for a timeout of a second or more.
// Another worker computes the piece; at worst that takes the whole 0.4 s.
TEST(Exchange, ABrokenConnectionCostsNoTimeout) {
  for (const char* sync : {"bsp", "ssp:1", "ssp:4", "asp", "local:3", "oneshot:epoch", "oneshot:end"}) {
    Scenario scenario = made(90, {{10, 1}, {10, 1}, {10, 1}});
    scenario.network = {.latency_ms = 0.5, .bandwidth_gbps = 1, .model_mb = 1};
    scenario.sync = sync;
    const double quiet = simulate(scenario, 1.0).total_s();
    for (std::size_t worker = 0; worker < 3; ++worker) {
      scenario.events = {on(worker, 4, 5)};
      scenario.events.back().cut = true;
      EXPECT_LT(simulate(scenario, 1.0).total_s(), quiet + 0.5) << sync << " " << worker;
    }
  }
}

}  // namespace
}  // namespace steelyard::sim::exchange_test
