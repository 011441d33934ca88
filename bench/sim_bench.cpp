// The simulator's real time per round of ten thousand workers, without joining: one shard, no gradient bytes.
// Without and with the checker, which tests the scheduler's invariants whenever a round begins.
#include "sim/scenario_run.h"

#include "balancing/policies.h"
#include "bench/sections.h"

namespace steelyard::bench {
namespace {

constexpr std::uint64_t workers = 10'000;
constexpr Round few = 3, more = 9;  // rounds; the difference of the two excludes joining and leaving

sim::Scenario scenario_of(Round rounds, std::uint64_t seed) {
  sim::Scenario scenario;
  scenario.name = "ten thousand";
  scenario.global_batch = 2 * workers;
  scenario.epochs = 0;
  scenario.rounds = rounds;
  scenario.samples_per_epoch = scenario.global_batch * rounds;
  scenario.seed = seed;
  scenario.network.step_ms = 5;
  for (std::uint64_t i = 0; i < workers; ++i) {
    scenario.workers.push_back({"w" + std::to_string(i), DeviceKind::gpu, {1, 0.5}, 0, 0.1});
  }
  return scenario;
}

double seconds_of(const sim::Scenario& scenario, sim::ScenarioRun::Checks checks) {
  const Time begin = steady_now();
  sim::ScenarioRun world(scenario, [](const auto&) { return balancing::make_policy("equal"); }, {checks, {}});
  world.run();
  expect(world.results().rounds().size() == scenario.rounds, "sim: rounds are missing in a simulation");
  return seconds(steady_now() - begin);
}

}  // namespace

void sim_section(const Effort& effort, Table& table) {
  table.section("simulator, milliseconds per round of 10,000 workers");
  const sim::Scenario brief = scenario_of(few, effort.seed), longer = scenario_of(more, effort.seed);
  using Checks = sim::ScenarioRun::Checks;
  const auto per_round = [&](Checks checks) {
    return 1000 * (seconds_of(longer, checks) - seconds_of(brief, checks)) / (more - few);
  };
  const auto spreads = alternate(
      effort.pairs, {[&] { return per_round(Checks::never); }, [&] { return per_round(Checks::rounds); }});
  const auto add = [&](const char* name, const Spread& ours, double limit_ms) {
    const Spread limit{limit_ms, limit_ms, limit_ms};
    table.add({name, "ms", ours, "limit", limit, true, 1.0});
  };
  add("without the checker", spreads[0], 50);
  add("with the checker", spreads[1], 500);
}

}  // namespace steelyard::bench
