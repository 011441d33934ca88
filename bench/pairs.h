// Alternating measurements: A, B, A, B, ... so that a slow minute of the machine affects both sides equally.
//
// Compare only ratios of medians from one call of alternate(); the spread is shown with every median. Each
// side checks its results and throws WrongResult, so that no speed of a wrong result is reported.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace steelyard::bench {

struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// Throws WrongResult if `right` is false, in every build.
void expect(bool right, const std::string& what);

struct Spread {
  double median = 0, lowest = 0, highest = 0;
};

// Runs the sides in turn, `pairs` times each, every second time in reverse order, and returns their spreads.
std::vector<Spread> alternate(unsigned pairs, const std::vector<std::function<double()>>& sides);

}  // namespace steelyard::bench
