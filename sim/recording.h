// Recording: the times of one worker of a real run, round by round, as a device that reproduces them.
//
//   in round k, for b samples:   line(b) factor_k
//
// The line is fitted to all rounds; a factor is the ratio of a round's time to the line, so that the
// recording's shares take the recording's times. After the last round it repeats from the first.
//
// The predictable part of a factor is its trend, the median over the neighbouring rounds; the rest is noise
// that the oracle does not know.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/batch_time.h"

namespace steelyard::sim {

struct Recording {
  std::vector<double> factors, trends;  // by round; empty: no recording

  [[nodiscard]] bool empty() const { return factors.empty(); }
  [[nodiscard]] double factor(std::uint64_t round) const {
    return empty() ? 1 : factors[round % factors.size()];
  }
  [[nodiscard]] double trend(std::uint64_t round) const {
    return empty() ? 1 : trends[round % trends.size()];
  }
};

// The line through the rounds, as a polynomial: through the origin if all shares were about equal, since the
// fixed cost is then unknown. It is estimated from pairs of successive rounds with different shares, if there
// are any, and otherwise from any pairs. A few slow rounds do not change it. Rounds without samples are
// ignored; at least one must have some. All other times and samples must be positive.
std::vector<double> fitted_line(std::span<const MeasuredTime> rounds);

// A round without samples has the factor of the last round with samples, or of the first.
Recording recording_of(std::span<const MeasuredTime> rounds, std::span<const double> line);

}  // namespace steelyard::sim
