// Summarises the runs of a comparison: a row for each contender, with medians over the repeats. Pure.
//
//   seconds to target   seconds of training until the first evaluation at or above the target
//   gain                the time of equal BSP, or of the best worker alone, divided by the time of this
//                       contender. Repeats with the same seed are pairs with a gain each; the row has their
//                       median and range. The time is that to the target, or of a sample without a target.
//
// A run that misses the target counts as infinitely long: it counts in the median and does not widen the
// range. With an infinite median the row has no number.
//
// Without a target, a fast method that learns little would be first. Therefore a contender that ends more
// than a point of accuracy below the best is `behind`, and is ranked after all others.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/report/compare/comparison.h"

namespace steelyard {

struct Spread {
  double median = 0, least = 0, most = 0;

  [[nodiscard]] double half_range() const { return (most - least) / 2; }
};

inline constexpr double kept_accuracy = 0.01;  // below the best that still counts as equal

struct Row {
  Contender contender;
  std::size_t good = 0, failed = 0, reached = 0;  // runs with a result, without, at the target
  std::string failure;                            // of the last that failed
  std::optional<Spread> seconds, samples_per_s, updates, percent_of_ideal, efficiency,
      accuracy;  // of those with a result
  std::optional<Spread> seconds_to_target, updates_to_target;
  std::optional<Spread> gain_on_equal, gain_on_alone;
  bool behind = false;  // in accuracy; only without a target
};

// In the order of the entries.
std::vector<Row> summarise(const Comparison& comparison);

// The first to reach the target first, or the fastest without a target; then those behind, in the same order;
// those without such a number last.
std::vector<Row> ranked(std::vector<Row> rows, bool by_target);

// The first evaluation at the target; null if no evaluation reached it.
const Evaluation* first_at(const Trial& trial, double target);

}  // namespace steelyard
