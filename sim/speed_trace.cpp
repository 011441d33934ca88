#include "sim/speed_trace.h"

#include <algorithm>

namespace steelyard::sim {

std::size_t SpeedTrace::step_at(double time_s) const {
  const auto above = std::ranges::upper_bound(at_s, time_s);
  return above == at_s.begin() ? 0 : static_cast<std::size_t>(above - at_s.begin()) - 1;
}

double SpeedTrace::took_s(double begun_s, double work_s) const {
  if (empty()) return work_s;
  double now = begun_s;
  for (std::size_t step = step_at(begun_s);; ++step) {
    const bool last = step + 1 == at_s.size();
    if (last || work_s <= (at_s[step + 1] - now) * levels[step]) return now - begun_s + work_s / levels[step];
    work_s -= (at_s[step + 1] - now) * levels[step];
    now = at_s[step + 1];
  }
}

double SpeedTrace::mean(double from_s, double to_s) const {
  if (empty()) return 1;
  if (to_s <= from_s) return levels[step_at(from_s)];
  double area = 0, now = from_s;
  for (std::size_t step = step_at(from_s); now < to_s; ++step) {
    const double until = step + 1 == at_s.size() ? to_s : std::min(to_s, at_s[step + 1]);
    area += (until - now) * levels[step];
    now = until;
  }
  return area / (to_s - from_s);
}

}  // namespace steelyard::sim
