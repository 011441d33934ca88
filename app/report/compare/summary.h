// What many runs come to: one row a contender, with medians over the repeats. Pure.
//
//   seconds to target   of training, until the first evaluation at or above the target
//   gain                over equal BSP, or over the best device alone: its time over this one's. Repeats are
//                       pairs, of the same seed: a gain for each, then their median and range. The time is
//                       that to the target where there is a target, and that of a sample otherwise.
//
// A run that misses the target counts as infinitely long. If the median is infinite, there is no number; if
// it is not, such runs count in the median and do not widen the range.
//
// Without a target, speed alone would put a method first that learns little. So a contender that ends more
// than a point of accuracy below the best is `behind`, and is listed after all that are not.
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

inline constexpr double kept_accuracy = 0.01;  // below the best, and still as good

struct Row {
  Contender contender;
  std::size_t good = 0, failed = 0, reached = 0;  // runs: with a result, without, at the target
  std::string failure;                            // of the last that failed
  std::optional<Spread> seconds, samples_per_s, updates, percent_of_ideal, efficiency,
      accuracy;  // of those with a result
  std::optional<Spread> seconds_to_target, updates_to_target;
  std::optional<Spread> gain_on_equal, gain_on_alone;
  bool behind = false;  // in accuracy, where no target says how much is enough
};

// In the order of the entries.
std::vector<Row> summarise(const Comparison& comparison);

// The soonest at the target first, or the fastest if there is no target; then those that are behind, in the
// same order; those without such a number come last.
std::vector<Row> ranked(std::vector<Row> rows, bool by_target);

// The evaluation that reached the target; null if none did.
const Evaluation* first_at(const Trial& trial, double target);

}  // namespace steelyard
