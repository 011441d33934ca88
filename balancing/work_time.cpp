#include "balancing/work_time.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {

WorkTime& WorkTime::operator+=(const WorkTime& other) {
  measured += other.measured;
  slowest += other.slowest;
  alone += other.alone;
  return *this;
}

WorkTime work_time(const RoundTimes& round) {
  double samples = 0, rates = 0, slowest = 0;
  for (const WorkerTime& worker : round.workers) {
    if (worker.share == 0 || !(worker.seconds > 0) || !std::isfinite(worker.seconds)) continue;
    const auto share = static_cast<double>(worker.share);
    samples += share;
    rates += share / worker.seconds;
    slowest = std::max(slowest, worker.seconds);
  }
  if (rates <= 0 || !(round.seconds > 0) || !std::isfinite(round.seconds)) return {};
  return {round.seconds, slowest, samples / rates};
}

}  // namespace steelyard::balancing
