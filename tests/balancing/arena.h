// The proving ground for policies: the simulator's devices (sim/simulated_device.h), without scheduler,
// messages or clocks.
//
// A round takes the longest of its workers' compute times plus a fixed exchange; a slow link adds to the
// former. Times are those of the scenario's devices: a policy and the oracle meet the same draws. Rounds are
// counted from 1: round 0 of the scenario is not played.
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

// A scenario with its disturbances in few words. `to` is the first round that is free of one again; each
// function returns the scenario; several may overlap.
class Scenario : public sim::Scenario {
 public:
  Scenario(std::string name, std::uint64_t positions, std::uint64_t last_round, std::vector<Machine> machines,
           std::uint64_t seed = 1);

  Scenario& scale(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor);
  Scenario& add(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms);
  Scenario& ramp(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor);  // and stays there
  Scenario& periodic(std::uint32_t slot, std::uint64_t from, std::uint64_t period, std::uint64_t slow,
                     double factor);
  Scenario& random_walk(std::uint32_t slot, double deviation, double lowest, double highest);
  Scenario& bursts(std::uint32_t slot, double mean_gap, double mean_length, double factor);
  // Beyond the exchange, of which there is some.
  Scenario& link(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms);
  // The worker sees it.
  Scenario& co_tenant(std::uint32_t slot, double mean_gap, double mean_length, double cpu);
  // The worker tells how little memory is left while it is so many times as slow.
  Scenario& memory_tenant(std::uint32_t slot, double mean_gap, double mean_length, double left,
                          double factor);
  Scenario& outlier(std::uint32_t slot, std::uint64_t round, double factor);  // noise: no oracle knows of it
  Scenario& warm_up(double factor);  // the first round of everybody takes so many times as long; noise too
  Scenario& kill(std::uint32_t slot, std::uint64_t round);
  Scenario& join(std::uint32_t slot, std::uint64_t round);

  // One time in ms, with noise or without.
  [[nodiscard]] double time(std::uint32_t slot, std::uint64_t round, double share, bool noisy = true) const;
  [[nodiscard]] Request request(std::uint64_t round) const { return request(round, {*this, seed}); }
  [[nodiscard]] Request request(std::uint64_t round, const sim::Devices& devices) const;
  [[nodiscard]] TrueCurves truth() const;  // refers to this scenario
  [[nodiscard]] Profile profile() const;   // by slot, in seconds, of undisturbed machines
  [[nodiscard]] std::uint64_t last_round() const { return rounds - 1; }
  [[nodiscard]] std::size_t size() const { return workers.size(); }

 private:
  // Whom it strikes, when, and how.
  sim::Event& disturb(std::uint32_t slot, std::uint64_t from, std::uint64_t to = UINT64_MAX);
  sim::Event& tenant(std::uint32_t slot, double mean_gap, double mean_length);

  std::uint64_t draws_ = 0;
};

struct Round {
  std::vector<std::uint32_t> slots;
  std::vector<std::uint64_t> shares;              // one per slot
  std::vector<double> compute_ms;                 // 0 for who had nothing
  double ms = 0;                                  // with the exchange
  [[nodiscard]] double straggler_effect() const;  // of those who worked
  [[nodiscard]] std::uint64_t share(std::uint32_t slot) const;
};

// Lets the policy play all rounds. Ends the process if its shares do not sum to the round or leave the
// bounds.
std::vector<Round> play(const Scenario& scenario, Policy& policy);

double total_ms(const std::vector<Round>& rounds, std::uint64_t from = 1);

// Total time of the best worker alone, on the same draws and with its exchange; infinite if nobody was there
// in all rounds with memory for all of a round.
double best_single_ms(const Scenario& scenario, std::uint64_t from = 1);

// Time of the oracle over the time of the policy, on the same draws, in percent.
double percent_of_ideal(const Scenario& scenario, Policy& policy);
double percent_of_ideal(const Scenario& scenario, const std::string& policy);

}  // namespace steelyard::balancing::arena
