// The devices of a scenario: how long worker i takes for b samples in round k.
//
//   true time   (p_i(b) scale_i(k) / cpu_i(k) + add_i(k))          what the oracle knows
//   drawn time  the same with unforeseen events, times noise_i(k)    what happens
//
// On a machine with jitter, quanta or pauses the drawn time is then multiplied by exp(jitter normal), rounded
// up to whole quanta, and now and then made longer by a pause.
//
// A recording multiplies p by what the recorded round took over its line (true: by the trend of that).
// Under a trace, p is done at the speed of the time at which it is done; `at_s` counts from the
// beginning of the first round.
//
// All that is random is a function of (seed, worker, round), never of share, policy or the order of calls:
// all policies, the oracle, and a worker that runs alone meet the same draws.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/scenario.h"

namespace steelyard::sim {

class Devices {
 public:
  Devices(const Scenario& scenario, std::uint64_t seed);  // the scenario must outlive it

  // Milliseconds for a batch; 0 samples take none.
  [[nodiscard]] double true_ms(std::size_t worker, Round round, std::uint64_t samples, double at_s = 0) const;
  [[nodiscard]] double drawn_ms(std::size_t worker, Round round, std::uint64_t samples,
                                double at_s = 0) const;

  // Share of it that is free, (0, 1]; of a trace, the mean over a computation that was begun then.
  [[nodiscard]] double cpu(std::size_t worker, Round round, double at_s = 0, double took_s = 0) const;
  // What of its memory is free, MB; -1 if nobody said how much it has.
  [[nodiscard]] double memory_mb(std::size_t worker, Round round, double at_s = 0) const;
  // Its exchange takes so many times as long.
  [[nodiscard]] double network(std::size_t worker, Round round, double at_s = 0) const;
  [[nodiscard]] bool present_at_start(std::size_t worker) const;

 private:
  struct State {
    double scale = 1, add_ms = 0, cpu = 1, memory = 1, network = 1;
  };
  // One event as it strikes one worker. Random shapes are drawn in advance, round by round.
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
