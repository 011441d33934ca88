// WorkTime: the parts of a cluster's time spent computing, and on exchange and waiting, from reported samples
// and compute times.
//
//   computing    longest compute time / round time: the rest of the round is exchange
//   efficiency   (samples / round time) / sum over workers of (samples_i / seconds_i): the rate, over that of
//                the same workers computing beside each other without exchange and without waiting
//
// Over several rounds both are ratios of sums of times. Percent of ideal (balancing/ideal.h) includes the
// exchange in its ideal and judges only the division of work; with a perfect division, efficiency =
// computing. A worker that computed nothing in a round is not counted in it.
#pragma once

#include "balancing/ideal.h"

namespace steelyard::balancing {

struct WorkTime {
  double measured = 0;  // seconds, of rounds
  double slowest = 0;   // until the slowest worker finished computing
  double alone = 0;     // for these samples, if each worker computed at its own rate without waiting

  WorkTime& operator+=(const WorkTime& other);
  template <class Archive>
  void serialize(Archive& archive) {
    archive(measured, slowest, alone);
  }

  // Both -1 if nothing was measured.
  [[nodiscard]] double computing() const { return measured > 0 ? slowest / measured : -1; }
  [[nodiscard]] double efficiency() const { return measured > 0 ? alone / measured : -1; }
};

// For one round; all zero if it has no time or no samples.
WorkTime work_time(const RoundTimes& round);

}  // namespace steelyard::balancing
