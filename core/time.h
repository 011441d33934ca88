// Time as a value: state machines receive the time as an argument, only hosts read a clock.
#pragma once

#include <chrono>

namespace steelyard {

using Duration = std::chrono::nanoseconds;

// A point on a monotonic clock. The origin is arbitrary; only differences have a meaning.
struct Time {
  Duration since_origin{0};

  static constexpr Time max() { return Time{Duration::max()}; }  // "never"

  friend constexpr auto operator<=>(const Time&, const Time&) = default;
  friend constexpr Time operator+(Time t, Duration d) { return t == max() ? t : Time{t.since_origin + d}; }
  friend constexpr Duration operator-(Time a, Time b) { return a.since_origin - b.since_origin; }
};

constexpr double seconds(Duration d) { return std::chrono::duration<double>(d).count(); }
constexpr Duration from_seconds(double s) {
  return std::chrono::duration_cast<Duration>(std::chrono::duration<double>(s));
}
constexpr Duration milliseconds(long ms) { return std::chrono::milliseconds(ms); }

// The steady clock, and the CPU clock of this thread. For hosts and compute nodes only.
Time steady_now();
Duration thread_cpu_time();

}  // namespace steelyard
