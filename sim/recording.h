// A recording: what one worker of a real run took, round by round, as a device that does it again.
//
//   in round k, for b samples:   line(b) factor_k
//
// The line is fitted to all rounds; the factors are what each round took over what the line says, so that the
// shares of the recording take the times of the recording. Behind the last round the first one comes again.
//
// What of a factor could be known before is its trend, the median over the rounds around it; the rest is
// luck, which the oracle does not foresee.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/batch_time.h"

namespace steelyard::sim {

struct Recording {
  std::vector<double> factors, trends;  // by round; none: nothing was recorded

  [[nodiscard]] bool empty() const { return factors.empty(); }
  [[nodiscard]] double factor(std::uint64_t round) const {
    return empty() ? 1 : factors[round % factors.size()];
  }
  [[nodiscard]] double trend(std::uint64_t round) const {
    return empty() ? 1 : trends[round % trends.size()];
  }
};

// The line through the rounds, as a polynomial: through the origin if all shares were about the same, for
// then nothing tells the fixed cost. It is told by rounds one after the other with other shares, where there
// are some, and otherwise by any two. Few rounds that took much longer do not move it. Rounds without samples
// tell nothing; at least one has some. All other times and samples are positive.
std::vector<double> fitted_line(std::span<const MeasuredTime> rounds);

// A round without samples has the factor of the last that had some, or of the first.
Recording recording_of(std::span<const MeasuredTime> rounds, std::span<const double> line);

}  // namespace steelyard::sim
