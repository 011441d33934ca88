// A scenario: a cluster of formulas and a job for it. Plain data; cli/scenario_file.h reads it from TOML.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "balancing/policy_options.h"
#include "sim/event.h"
#include "sim/network.h"

namespace steelyard::sim {

// One worker: how long it takes for a batch.
struct Device {
  std::string name;
  std::string kind = "cpu";     // or "gpu"
  std::vector<double> time_ms;  // polynomial in the batch size, low order first; positive and not decreasing
  std::uint64_t max_batch = 0;  // positions that fit its memory in one piece; 0: no limit
  double noise = 0;             // relative standard deviation of one compute time
};

struct Scenario {
  std::string name = "scenario";
  std::uint64_t global_batch = 512;
  std::uint64_t samples_per_epoch = 50'000;
  std::uint64_t epochs = 1;  // 0: no reason to stop
  std::uint64_t rounds = 0;  // 0: no reason to stop
  std::uint64_t seed = 1;
  std::string sync = "bsp";
  std::string policy = "steelyard";
  std::map<std::string, balancing::PolicyOptions> policy_options;  // by policy

  NetworkOptions network;
  std::uint32_t servers = 1;
  double heartbeat_s = 0;  // 0: half a second, and longer where workers are many

  std::vector<Device> workers;
  std::vector<Event> events;
};

// How many rounds it has, whoever takes part.
std::uint64_t count_rounds(const Scenario& scenario);

// The sync modes that there are.
const std::vector<std::string>& sync_modes();

// Throws Failure (configuration) for what cannot be simulated: no worker, nothing that ends it, a curve that
// is not positive or decreases, nobody there in the first round, a sync mode that does not exist.
void check_scenario(const Scenario& scenario);

}  // namespace steelyard::sim
