// A scenario: a simulated cluster and a job for it. Plain data; app/config/scenario_file.h reads it from
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

// One worker: the time of its batches.
struct Device {
  std::string name;
  DeviceKind kind = DeviceKind::cpu;
  std::vector<double> time_ms;           // polynomial in the batch size, low order first; held constant where
                                         // it falls
  std::uint64_t max_batch = 0;           // positions that fit its memory at once; 0: no limit
  double noise = 0;                      // relative standard deviation of one compute time
  double flat_ms = 0;                    // minimum time of a batch: a GPU takes as long for a few samples as
                                         // for one
  std::vector<MeasuredTime> measured{};  // a curve (sim/batch_time.h) that replaces time_ms
  Recording recording{};                 // factors of a real run's rounds on time_ms
  SpeedTrace trace{};                    // its speed over time
  // Settings of its own link; negative: the network's.
  double latency_ms = -1, bandwidth_gbps = -1;
  double memory_mb = 0;  // its machine's memory, reported by CPU workers; 0: unknown
  // Disturbances of rounds of milliseconds on a shared machine: the logarithm of a time varies by `jitter`;
  // times are rounded up to whole quanta; with probability `pause_chance` a batch is interrupted, for an
  // exponentially distributed time with mean `pause_ms`.
  double jitter = 0, quantum_ms = 0, pause_chance = 0, pause_ms = 0;

  // Undisturbed time of a batch; 0 for 0 samples.
  [[nodiscard]] double own_ms(double samples) const {
    if (!measured.empty()) return on_curve(measured, samples);
    return std::max(flat_ms, held_polynomial(time_ms, samples));
  }
};

// Times of one server that has the whole model. Each of n servers has 1/n of the model and takes 1/n of them.
struct ServerTimes {
  double push_ms = 0;    // to receive a worker's push and to add it
  double update_ms = 0;  // of one step of the optimizer
};

// What the plan of a round knows about the load of the workers' machines.
enum class Readings : std::uint8_t {
  late,     // the mean over the previous round
  barrier,  // the load at the end of the previous round, as real workers read it
  oracle,   // the mean over the coming round, which no worker can read: the limit of what readings can give
};

inline const std::vector<std::string>& readings_names() {
  static const std::vector<std::string> names{"late", "barrier", "oracle"};
  return names;
}

struct Scenario {
  std::string name = "scenario";
  std::uint64_t global_batch = 512;
  std::uint32_t grain = 1;  // Job::grain
  std::uint64_t samples_per_epoch = 50'000;
  std::uint64_t epochs = 1;  // 0: no limit
  std::uint64_t rounds = 0;  // 0: no limit
  std::uint64_t seed = 1;
  std::string sync = "bsp";
  std::string policy = "steelyard";
  std::map<std::string, balancing::PolicyOptions> policy_options;  // by policy
  balancing::PolicyTable own_policies;                             // a user's, beside the built-in ones
  balancing::PredictorTable own_predictors;

  NetworkOptions network;
  std::uint32_t servers = 1;
  ServerTimes server_times;
  Readings readings = Readings::barrier;
  double heartbeat_s = 0;  // 0: half a second, longer for many workers

  std::vector<Device> workers;
  std::vector<Event> events;

  // The workers' computation; null: integers that prove that every position is counted once.
  std::shared_ptr<const Training> training;
  double target_accuracy = 0;  // ends a training when reached; 0: never
};

// The network settings of this worker.
NetworkOptions network_of(const Scenario& scenario, std::size_t worker);

// The number of workers present from the beginning, and the number of rounds.
std::uint32_t count_first_workers(const Scenario& scenario);
std::uint64_t count_rounds(const Scenario& scenario);

// Throws Failure (configuration) for scenarios that cannot be simulated: no worker, no end, a curve that is
// not positive or decreases from the first sample on, an unknown sync mode, a round without workers.
void check_scenario(const Scenario& scenario);

// Lines for the user about simulated behaviour that differs from the file: curves that fall within the range
// of their workers' batches.
std::vector<std::string> notes_on(const Scenario& scenario);

}  // namespace steelyard::sim
