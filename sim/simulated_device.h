// Devices: the devices of a scenario: the time of worker i for b samples in round k.
//
//   true time   (p_i(b) scale_i(k) / cpu_i(k) + add_i(k))          known to the oracle
//   drawn time  the same with unforeseen events, times noise_i(k)    used by the simulation
//
// On a machine with jitter, quanta or pauses the drawn time is then multiplied by exp(jitter normal), rounded
// up to whole quanta, and occasionally extended by a pause.
//
// A recording multiplies p by the recorded round's factor (true time: by its trend). Under a trace, p is
// computed at the speed of the current time; `at_s` counts from the beginning of the first round.
//
// All random values are functions of (seed, worker, round), never of share, policy or the order of calls: all
// policies, the oracle, and a worker that runs alone get the same draws.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario.h"

namespace steelyard::sim {

class Devices {
 public:
  Devices(const Scenario& scenario, std::uint64_t seed);  // the scenario must outlive it

  // Milliseconds for a batch; 0 for 0 samples.
  [[nodiscard]] double true_ms(std::size_t worker, Round round, std::uint64_t samples, double at_s = 0) const;
  [[nodiscard]] double drawn_ms(std::size_t worker, Round round, std::uint64_t samples,
                                double at_s = 0) const;

  // Free share of the processor, (0, 1]; under a trace, the mean over a computation begun at `at_s`.
  [[nodiscard]] double cpu(std::size_t worker, Round round, double at_s = 0, double took_s = 0) const;
  // Free memory, MB; -1 if the scenario does not give its memory.
  [[nodiscard]] double memory_mb(std::size_t worker, Round round, double at_s = 0) const;
  // Factor on its exchange time.
  [[nodiscard]] double network(std::size_t worker, Round round, double at_s = 0) const;
  [[nodiscard]] bool present_at_start(std::size_t worker) const;

 private:
  struct State {
    double scale = 1, add_ms = 0, cpu = 1, memory = 1, network = 1;
  };
  // An event's effect on one worker. Random shapes are drawn in advance, round by round.
  struct Stroke {
    const Event* event = nullptr;
    std::vector<float> levels;
  };
  [[nodiscard]] State state(std::size_t worker, Round round, double at_s, bool foreseen_only) const;
  [[nodiscard]] double noise(std::size_t worker, Round round) const;
  [[nodiscard]] double batch_ms(std::size_t worker, Round round, std::uint64_t samples, double at_s,
                                bool foreseen_only) const;
  [[nodiscard]] double noisy_ms(std::size_t worker, Round round, double ms) const;

  const Scenario& scenario_;
  const std::uint64_t seed_;
  std::vector<std::vector<Stroke>> strokes_;  // by worker
};

}  // namespace steelyard::sim
