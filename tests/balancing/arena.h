// The proving ground for policies: a cluster of formulas, without scheduler, messages or clocks.
//
// A round takes the longest of its workers' compute times plus a fixed exchange; a slow link adds to the
// former. The time of worker i in round k for b samples is
//
//   t_i(k, b) = (p_i(b) scale_i(k) / cpu_i(k) + add_i(k)) noise_i(k)
//
// with a polynomial p_i and disturbances that are drawn in advance from a seed; the noise belongs to the
// place (i, k) and not to the share, so all policies and the oracle meet the same draws. Everything is
// deterministic.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "balancing/cost/profile.h"
#include "balancing/policy.h"
#include "balancing/policy/oracle.h"

namespace steelyard::balancing::arena {

struct Machine {
  std::vector<double> time_ms;  // polynomial in the share, low order first
  std::string kind = "gpu";
  double noise = 0.02;  // relative standard deviation of one time
  std::uint64_t most = UINT64_MAX;
  // A machine that others use too, in rounds of a millisecond: the logarithm of a time varies by `jitter`; in
  // one round of 1 / pause_chance it is taken away for an exponential time of this mean; and who sleeps does
  // so for whole quanta.
  double jitter = 0, pause_chance = 0, pause_ms = 0, quantum_ms = 0;
  double link_ms = 0;        // its exchange, push and pull, beyond that of the others
  bool blind_meter = false;  // the CPU share that it tells is drawn at random, some of the time
};

class Scenario {
 public:
  Scenario(std::string name, std::uint64_t positions, std::uint64_t rounds, std::vector<Machine> machines,
           std::uint64_t seed = 1);

  std::string name;
  std::uint64_t positions, rounds;
  double exchange_ms = 0;

  // Disturbances of the worker in a slot; rounds are counted from 1, `to` is the first that is free of it
  // again. Each returns the scenario. Several may overlap.
  Scenario& scale(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor);
  Scenario& add(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms);
  Scenario& ramp(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor);  // and stays there
  Scenario& periodic(std::uint32_t slot, std::uint64_t from, std::uint64_t period, std::uint64_t slow,
                     double factor);
  Scenario& random_walk(std::uint32_t slot, double deviation, double lowest, double highest);
  Scenario& bursts(std::uint32_t slot, double mean_gap, double mean_length, double factor);
  Scenario& link(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms);  // beyond link_ms
  Scenario& co_tenant(std::uint32_t slot, double mean_gap, double mean_length,
                      double cpu);  // the worker sees it
  // The worker tells how little memory is left while it is so many times as slow.
  Scenario& memory_tenant(std::uint32_t slot, double mean_gap, double mean_length, double left,
                          double factor);
  Scenario& outlier(std::uint32_t slot, std::uint64_t round, double factor);  // noise: no oracle knows of it
  Scenario& warm_up(double factor);  // the first round of everybody takes so many times as long; noise too
  Scenario& kill(std::uint32_t slot, std::uint64_t round);
  Scenario& join(std::uint32_t slot, std::uint64_t round);

  // One time in ms, with noise or without.
  [[nodiscard]] double time(std::uint32_t slot, std::uint64_t round, double share, bool noisy = true) const;
  [[nodiscard]] Request request(std::uint64_t round) const;  // to > rounds is not asked for
  [[nodiscard]] TrueCurves truth() const;                    // refers to this scenario
  [[nodiscard]] Profile profile() const;                     // by slot, in seconds, of undisturbed machines
  [[nodiscard]] double link_ms(std::uint32_t slot, std::uint64_t round) const {
    return machines_[slot].link_ms + states_[slot][round].link;
  }
  [[nodiscard]] std::size_t size() const { return machines_.size(); }

 private:
  struct State {
    double scale = 1, add = 0, cpu = 1, outlier = 1, link = 0, memory = 1;
    bool present = true;
  };
  State& at(std::uint32_t slot, std::uint64_t round) { return states_[slot][round]; }

  std::vector<Machine> machines_;
  bool tells_memory_ = false;
  std::vector<std::vector<State>> states_;  // by slot and round
  std::uint64_t seed_, draws_ = 0;
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
