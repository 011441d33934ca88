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
// A bursty event begins and ends inside a round, after a random part (uniform, 0 to 1) of the worker's work
// in it: scale, cpu and add are the means over the work. So no reading before the round shows it. If its mean
// length is one round, it is a single slow round instead, from begin to end.
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

  // Free share of the processor, (0, 1]: the mean over the worker's computation of the round, begun at
  // `at_s`.
  [[nodiscard]] double cpu(std::size_t worker, Round round, double at_s = 0, double took_s = 0) const;
  // Free memory, MB, the mean over the computation; -1 if the scenario does not give its memory.
  [[nodiscard]] double memory_mb(std::size_t worker, Round round, double at_s = 0) const;
  // The reading with which the round after this one is planned, as Scenario::readings says. The computation
  // of this round began at `at_s`; `waited_s` seconds have passed since its end.
  struct Reading {
    double cpu = 1, memory_mb = -1;
  };
  [[nodiscard]] Reading reading(std::size_t worker, Round round, double at_s = 0, double took_s = 0,
                                double waited_s = 0) const;
  // Factor on its exchange time.
  [[nodiscard]] double network(std::size_t worker, Round round, double at_s = 0) const;
  [[nodiscard]] bool present_at_start(std::size_t worker) const;

 private:
  struct State {
    double scale = 1, add_ms = 0, cpu = 1, memory = 1, network = 1;
    [[nodiscard]] double slowdown() const { return scale / cpu; }
  };
  // An event's effect on one worker. Random shapes are drawn in advance, round by round.
  struct Stroke {
    const Event* event = nullptr;
    std::vector<float> levels{};
    std::uint64_t draws = 0;  // seed of the instants at which a bursty event changes
    [[nodiscard]] bool changes_in(Round round) const;
    // The part of the worker's work in this round after which the event begins or ends, [0, 1).
    [[nodiscard]] double instant(Round round) const;
    // Strength once this part of the work is done.
    [[nodiscard]] double strength(Round round, double done) const;
  };
  // The state once the worker has done this part of its work in the round.
  [[nodiscard]] State state(std::size_t worker, Round round, double at_s, bool foreseen_only,
                            double done = 1) const;
  // The mean over the computation, in time; add_ms and network over the work.
  [[nodiscard]] State mean(std::size_t worker, Round round, double at_s, bool foreseen_only) const;
  [[nodiscard]] double noise(std::size_t worker, Round round) const;
  [[nodiscard]] double batch_ms(std::size_t worker, Round round, std::uint64_t samples, double at_s,
                                bool foreseen_only) const;
  [[nodiscard]] double noisy_ms(std::size_t worker, Round round, double ms) const;

  const Scenario& scenario_;
  const std::uint64_t seed_;
  std::vector<std::vector<Stroke>> strokes_;  // by worker
};

}  // namespace steelyard::sim
