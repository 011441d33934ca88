// Alternating measurements: A, B, A, B, ... so that a slow minute of the machine hits both sides alike.
//
// Only ratios of medians from one call of alternate() are worth comparing; the spread is shown beside every
// median. Each side checks its own answers and throws WrongResult: a wrong answer has no speed.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

namespace steelyard::bench {

struct WrongResult : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// For answers, in every build: throws WrongResult.
void expect(bool right, const std::string& what);

struct Spread {
  double median = 0, lowest = 0, highest = 0;
};

// Runs the sides in turn, `pairs` times each, every second time in reverse order, and gives their spreads.
std::vector<Spread> alternate(unsigned pairs, const std::vector<std::function<double()>>& sides);

}  // namespace steelyard::bench
