// The undisturbed time of a batch: a polynomial, or measurements.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace steelyard::sim {

// SpeedTrace: the speed of a device over time, from a file of measurements.
//
// A level holds from its time to that of the next one; the first level also before its time, the last one
// forever. A trace is a step function: a batch that spans a step is computed at both speeds, each for its
// part.
struct SpeedTrace {
  enum class Kind : unsigned char {
    speed,  // factor on the device's own speed
    cpu,    // share of the processor that others leave, (0, 1]; workers of kind "cpu" experience and report
            // it
  };
  Kind kind = Kind::speed;
  std::vector<double> at_s, levels;  // times increase, levels are positive; empty: constant speed

  [[nodiscard]] bool empty() const { return at_s.empty(); }
  // Seconds for `work_s` seconds of work that begins at `begun_s`.
  [[nodiscard]] double took_s(double begun_s, double work_s) const;
  // The mean level over a time span; the current level if it is empty.
  [[nodiscard]] double mean(double from_s, double to_s) const;

 private:
  [[nodiscard]] std::size_t step_at(double time_s) const;
};

double polynomial(std::span<const double> coefficients, double x);  // low order first

// The polynomial, held at each peak until it is higher again, so that it never falls. A polynomial through
// measured times may bend down beyond the measured sizes, but no larger batch takes less time. x >= 0.
double held_polynomial(std::span<const double> coefficients, double x);

struct MeasuredTime {
  double samples = 0, ms = 0;
  friend bool operator==(const MeasuredTime&, const MeasuredTime&) = default;
};

// Turns measurements into a curve: sorted, one point per number of samples (the median of several). If a
// larger batch was faster than smaller ones, all of them get their mean, so that the curve never falls.
std::vector<MeasuredTime> as_curve(std::vector<MeasuredTime> measured);

// Evaluates a curve, which must not be empty, by linear interpolation. Below the first point the first
// segment is extended, but never below proportionality to the samples; above the last point, the line from
// the first point to the last.
double on_curve(std::span<const MeasuredTime> curve, double samples);

// The straight line, as a polynomial, nearest to a curve from 1 to `most` samples: for callers that accept
// polynomials only.
std::vector<double> line_through(const std::function<double(double samples)>& curve_ms, std::uint64_t most);

}  // namespace steelyard::sim
