// A scenario: a cluster of formulas and a job for it. Plain data; app/config/scenario_file.h reads it from
// TOML.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "balancing/policies.h"
#include "core/device_name.h"
#include "sim/batch_time.h"
#include "sim/faults.h"
#include "sim/recording.h"
#include "sim/simulated_network.h"
#include "sim/training_model.h"

namespace steelyard::sim {

// One worker: how long it takes for a batch.
struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::cpu;
  std::vector<double> time_ms;           // polynomial in the batch size, low order first; held where it falls
  std::uint64_t max_batch = 0;           // positions that fit its memory in one piece; 0: no limit
  double noise = 0;                      // relative standard deviation of one compute time
  double flat_ms = 0;                    // no batch takes less: GPUs take as long for few samples as for some
  std::vector<MeasuredTime> measured{};  // a curve (sim/simulated_device.h) in the place of time_ms
  Recording recording{};                 // what a real run did in each round beside time_ms
  SpeedTrace trace{};                    // how fast it is at what time
  // Of its own link; less than 0: as the network says.
  double latency_ms = -1, bandwidth_gbps = -1;
  double memory_mb = 0;  // what its machine has; CPU workers report it; 0: unknown
  // Rounds of a millisecond on a machine that others use too: the logarithm of a time varies by `jitter`; who
  // sleeps does so for whole quanta; and with this chance it is taken away for an exponential time.
  double jitter = 0, quantum_ms = 0, pause_chance = 0, pause_ms = 0;

  // For a batch when nothing disturbs it; 0 samples take none.
  [[nodiscard]] double own_ms(double samples) const {
    if (!measured.empty()) return on_curve(measured, samples);
    return std::max(flat_ms, held_polynomial(time_ms, samples));
  }
};

struct Scenario {
  std::string name = "scenario";
  std::uint64_t global_batch = 512;
  std::uint32_t grain = 1;  // Job::grain
  std::uint64_t samples_per_epoch = 50'000;
  std::uint64_t epochs = 1;  // 0: no reason to stop
  std::uint64_t rounds = 0;  // 0: no reason to stop
  std::uint64_t seed = 1;
  std::string sync = "bsp";
  std::string policy = "steelyard";
  std::map<std::string, balancing::PolicyOptions> policy_options;  // by policy
  balancing::PolicyTable own_policies;                             // a user's, beside the built-in ones
  balancing::PredictorTable own_predictors;

  NetworkOptions network;
  std::uint32_t servers = 1;
  double heartbeat_s = 0;  // 0: half a second, and longer where workers are many

  std::vector<Device> workers;
  std::vector<Event> events;

  // What the workers really compute; null: whole numbers that prove that every position is counted once.
  std::shared_ptr<const Training> training;
  double target_accuracy = 0;  // of a training: it ends there; 0: never
};

// The network as this worker has it.
NetworkOptions network_of(const Scenario& scenario, std::size_t worker);

// How many of its workers are there from the beginning, and how many rounds it has.
std::uint32_t count_first_workers(const Scenario& scenario);
std::uint64_t count_rounds(const Scenario& scenario);

// Throws Failure (configuration) for what cannot be simulated: no worker, nothing that ends it, a curve that
// is not positive or decreases from the first sample on, a sync mode that does not exist, nobody there in
// some round.
void check_scenario(const Scenario& scenario);

// What is simulated otherwise than it is written, a line each for people: curves that fall within the batches
// that their workers may get.
std::vector<std::string> notes_on(const Scenario& scenario);

}  // namespace steelyard::sim
