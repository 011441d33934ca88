// Profiler: which batch sizes a worker measures before training (Job::profile), and what it found.
//
// The profiling phase of LBB (Yao, Liu, Gao: J. Supercomputing 2024, Alg. 1): the batch doubles, 1, 2, 4, ...
// grains, until the limit or until the memory does not hold it. Ours: the phase takes `budget`, and the batch
// also stops doubling if the next one would take more than half of the time left. Then all sizes are measured
// again, the least measured one first, and the result has the median time of each. All workers measure
// for the same time, so workers that share a machine disturb each other as they will in training.
//
// Pure; part of the worker machine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/layout.h"
#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

class Profiler {
 public:
  static constexpr Duration budget = std::chrono::seconds(3);  // one longer batch may exceed it
  static constexpr std::size_t most_repeats = 50;              // of each size

  // Sizes are whole grains, at least one, and at most `most` samples.
  Profiler(std::uint64_t grain, std::uint64_t most);

  // The batch to measure now, in samples; std::nullopt if the phase is over. Its answer is the next call of
  // took() or did_not_fit().
  std::optional<std::uint64_t> next(Time now);
  void took(double seconds);
  void did_not_fit();

  [[nodiscard]] Ready result() const;

 private:
  struct Size {
    std::uint64_t samples = 0;
    std::vector<double> seconds;
  };
  [[nodiscard]] bool may_double(double left) const;

  const std::uint64_t grain_;
  std::uint64_t most_;  // samples, whole grains
  std::vector<Size> sizes_;
  std::size_t at_ = 0;  // the size being measured
  std::optional<Time> begun_;
  bool full_ = false;  // a size did not fit
};

// Parameters for measurements: small numbers of both signs, and 1 for running statistics. Zeros would let
// some devices save power and run faster than in training.
Blob trial_parameters(const Layout& layout);

}  // namespace steelyard
