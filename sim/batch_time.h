// How long a batch takes when nothing disturbs it: by a polynomial, or by what was measured.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace steelyard::sim {

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
