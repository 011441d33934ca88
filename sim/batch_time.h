// How long a batch takes when nothing disturbs it: by a polynomial, or by what was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace steelyard::sim {

// A trace: how fast a device is at what time, from a file of somebody's measurements.
//
// The level of a line holds from its time to that of the next line; the first one also before, and the last
// one for ever. There is nothing between two levels: a trace is a step function, and a batch that meets a
// step is done at both speeds, each for its part.
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

double polynomial(std::span<const double> coefficients, double x);  // low order first

// The same where it does not fall: beyond a peak it stays at that height until it is higher again. A
// polynomial through measured times may bend down beyond the sizes that were tried, and no larger batch takes
// less time. x >= 0.
double held_polynomial(std::span<const double> coefficients, double x);

struct MeasuredTime {
  double samples = 0, ms = 0;
  friend bool operator==(const MeasuredTime&, const MeasuredTime&) = default;
};

// Measurements as a curve: in order, one for each number of samples (the median of several). Where a larger
// batch was quicker than smaller ones, all of them get the mean, so that the curve never falls.
std::vector<MeasuredTime> as_curve(std::vector<MeasuredTime> measured);

// Reads a curve, which is not empty: straight lines between its points. Below the first point its first line
// goes on, but is never quicker than in proportion to the samples; above the last, the line from the first to
// the last does.
double on_curve(std::span<const MeasuredTime> curve, double samples);

// The straight line, as a polynomial, that is nearest to a curve from 1 to `most` samples: for those who know
// polynomials only.
std::vector<double> line_through(const std::function<double(double samples)>& curve_ms, std::uint64_t most);

}  // namespace steelyard::sim
