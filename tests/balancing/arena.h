// Arena: runs a policy on the simulator's devices (sim/simulated_device.h), without scheduler, messages or
// clocks.
//
// A round takes the longest of its workers' compute times plus a fixed exchange; a slow link adds to the
// compute time. Times come from the scenario's devices, so a policy and the oracle get the same draws. Rounds
// are counted from 1; round 0 of the scenario is not played. Scenario::readings sets what a plan knows of the
// machines' load.
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <string>
#include <vector>

#include "balancing/cost/curves.h"
#include "balancing/oracle.h"
#include "sim/simulated_device.h"

namespace steelyard::balancing::arena {

struct Machine : sim::Device {
  Machine(std::vector<double> its_time_ms = {}, DeviceKind its_kind = DeviceKind::gpu,
          double its_noise = 0.02)
      : sim::Device{{}, its_kind, std::move(its_time_ms), 0, its_noise} {}
};

// A scenario with short functions that add disturbances. `to` is the first round without the disturbance.
// Each function returns the scenario; disturbances may overlap.
class Scenario : public sim::Scenario {
 public:
  Scenario(std::string name, std::uint64_t positions, std::uint64_t last_round, std::vector<Machine> machines,
           std::uint64_t seed = 1);

  Scenario& scale(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor);
  Scenario& add(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms);
  Scenario& ramp(std::uint32_t slot, std::uint64_t from, std::uint64_t to,
                 double factor);  // stays at `factor`
  Scenario& periodic(std::uint32_t slot, std::uint64_t from, std::uint64_t period, std::uint64_t slow,
                     double factor);
  Scenario& random_walk(std::uint32_t slot, double deviation, double lowest, double highest);
  Scenario& bursts(std::uint32_t slot, double mean_gap, double mean_length, double factor);
  // Adds `ms` to the worker's exchange; the scenario must have an exchange time.
  Scenario& link(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms);
  // The worker reads the CPU share that the co-tenant leaves.
  Scenario& co_tenant(std::uint32_t slot, double mean_gap, double mean_length, double cpu);
  // The worker is `factor` times as slow and reads the share of memory that is left.
  Scenario& memory_tenant(std::uint32_t slot, double mean_gap, double mean_length, double left,
                          double factor);
  Scenario& outlier(std::uint32_t slot, std::uint64_t round, double factor);  // noise: unknown to the oracle
  Scenario& warm_up(double factor);  // multiplies all times of the first round; noise too
  Scenario& kill(std::uint32_t slot, std::uint64_t round);
  Scenario& join(std::uint32_t slot, std::uint64_t round);

  // A worker's time for a share in ms, with or without noise.
  [[nodiscard]] double time(std::uint32_t slot, std::uint64_t round, double share, bool noisy = true) const;
  [[nodiscard]] Request request(std::uint64_t round) const { return request(round, {*this, seed}); }
  [[nodiscard]] Request request(std::uint64_t round, const sim::Devices& devices) const;
  [[nodiscard]] TrueCurves truth() const;  // keeps a reference to this scenario
  [[nodiscard]] Profile profile() const;   // by slot, in seconds, without disturbances
  [[nodiscard]] std::uint64_t last_round() const { return rounds - 1; }
  [[nodiscard]] std::size_t size() const { return workers.size(); }

 private:
  // Adds an event for a worker and returns it; the caller sets its effect.
  sim::Event& disturb(std::uint32_t slot, std::uint64_t from, std::uint64_t to = UINT64_MAX);
  sim::Event& tenant(std::uint32_t slot, double mean_gap, double mean_length);

  std::uint64_t draws_ = 0;
};

struct Round {
  std::vector<std::uint32_t> slots;
  std::vector<std::uint64_t> shares;              // one per slot
  std::vector<double> compute_ms;                 // 0 if the share is 0
  double ms = 0;                                  // including the exchange
  [[nodiscard]] double straggler_effect() const;  // of the workers with samples
  [[nodiscard]] std::uint64_t share(std::uint32_t slot) const;
};

// Runs the policy for all rounds. Aborts if its shares do not sum to the round or exceed a bound.
std::vector<Round> play(const Scenario& scenario, Policy& policy);

double total_ms(const std::vector<Round>& rounds, std::uint64_t from = 1);

// Total time of the best worker alone, on the same draws and with its exchange; infinite if no worker that
// can hold a whole round was present in all rounds.
double best_single_ms(const Scenario& scenario, std::uint64_t from = 1);

// Time of the oracle over the time of the policy, on the same draws, in percent.
double percent_of_ideal(const Scenario& scenario, Policy& policy);
double percent_of_ideal(const Scenario& scenario, const std::string& policy);

}  // namespace steelyard::balancing::arena
