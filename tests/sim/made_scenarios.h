// Small scenarios for tests.
#pragma once

#include <string>
#include <vector>

#include "sim/scenario.h"

namespace steelyard::sim {

// Workers named a, b, c, ... with these polynomials (ms); no noise, no exchange, ten rounds of `batch`
// samples.
inline Scenario made(std::uint64_t batch, const std::vector<std::vector<double>>& curves,
                     const std::string& policy = "equal") {
  Scenario scenario;
  scenario.name = "made";
  scenario.global_batch = batch;
  scenario.epochs = 0;
  scenario.rounds = 10;
  scenario.samples_per_epoch = batch * scenario.rounds;
  scenario.policy = policy;
  for (const std::vector<double>& curve : curves) {
    const std::string name(1, static_cast<char>('a' + scenario.workers.size()));
    scenario.workers.push_back({name, DeviceKind::gpu, curve, 0, 0});
  }
  return scenario;
}

// LBB (Yao, Liu, Gao; J. Supercomputing 2024), Table 2: lines through its two columns, and the exchange of
// its Fig. 7.
inline Scenario lbb_table_2(const std::string& policy) {
  Scenario scenario =
      made(512, {{5.896, 0.59308}, {7.151, 0.58077}, {8.291, 0.60233}, {50.982, 2.67139}}, policy);
  scenario.network.step_ms = 95;
  return scenario;
}

inline Event on(std::size_t worker, Round from, Round to) {
  Event event;
  event.worker = worker;
  event.from = from;
  event.to = to;
  return event;
}

}  // namespace steelyard::sim
