// A trace: how fast a device is at what time, from a file of somebody's measurements.
//
// The level of a line holds from its time to that of the next line; the first one also before, and the last
// one for ever. There is nothing between two levels: a trace is a step function, and a batch that meets a
// step is done at both speeds, each for its part.
#pragma once

#include <vector>

namespace steelyard::sim {

struct SpeedTrace {
  enum class Kind : unsigned char {
    speed,  // times the device's own
    cpu,    // share of the processor that others leave, (0, 1]; workers of kind "cpu" see and report it
  };
  Kind kind = Kind::speed;
  std::vector<double> at_s, levels;  // times rise, levels are positive; none: nothing changes

  [[nodiscard]] bool empty() const { return at_s.empty(); }
  // Seconds that work of so many seconds takes that is begun at this time.
  [[nodiscard]] double took_s(double begun_s, double work_s) const;
  // The mean level over a time; at one moment, the level there.
  [[nodiscard]] double mean(double from_s, double to_s) const;

 private:
  [[nodiscard]] std::size_t step_at(double time_s) const;
};

}  // namespace steelyard::sim
