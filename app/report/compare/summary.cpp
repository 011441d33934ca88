#include "app/report/compare/summary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "core/text.h"

namespace steelyard {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

// Nothing if the median is infinite; infinite values do not widen the range.
std::optional<Spread> spread(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const double middle = median(values);
  if (!std::isfinite(middle)) return std::nullopt;
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  const auto [least, most] = std::ranges::minmax(values);
  return Spread{middle, least, most};
}

template <class Number>
std::optional<Spread> spread_of(const Entry& entry, Number number) {
  std::vector<double> values;
  for (const Trial& trial : entry.trials) {
    // Negative: unknown.
    if (const double value = trial.good() ? number(trial) : -1; value >= 0) values.push_back(value);
  }
  return spread(std::move(values));
}

// The cost of a run; smaller is better.
double cost(const Trial& trial, double target) {
  if (target > 0) {
    const Evaluation* at = first_at(trial, target);
    return at == nullptr ? never : at->seconds;
  }
  return trial.samples > 0 ? trial.seconds / trial.samples : never;
}

std::optional<Spread> gain(const Entry* base, const Entry& entry, double target) {
  if (base == nullptr) return std::nullopt;
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(base->trials.size(), entry.trials.size()); ++i) {
    if (!base->trials[i].good() || !entry.trials[i].good()) continue;
    const double ratio = cost(base->trials[i], target) / cost(entry.trials[i], target);
    if (std::isnan(ratio)) continue;  // neither run reached the target
    // A run that never reaches the target is below every gain, not a gain of 0, which would be averaged.
    ratios.push_back(ratio > 0 ? ratio : -never);
  }
  return spread(std::move(ratios));
}

Row summary(const Entry& entry, double target) {
  Row row;
  row.contender = entry.contender;
  for (const Trial& trial : entry.trials) {
    ++(trial.good() ? row.good : row.failed);
    if (!trial.good()) row.failure = trial.failure;
    if (trial.good() && target > 0 && first_at(trial, target) != nullptr) ++row.reached;
  }
  row.seconds = spread_of(entry, [](const Trial& it) { return it.seconds; });
  row.samples_per_s = spread_of(entry, [](const Trial& it) { return it.samples_per_s(); });
  row.updates = spread_of(entry, [](const Trial& it) { return static_cast<double>(it.updates); });
  row.percent_of_ideal = spread_of(entry, [](const Trial& it) { return it.percent_of_ideal; });
  row.efficiency = spread_of(entry, [](const Trial& it) { return it.efficiency; });
  row.accuracy = spread_of(entry, [](const Trial& it) { return it.accuracy; });
  if (target <= 0) return row;
  row.seconds_to_target = spread_of(entry, [&](const Trial& it) { return cost(it, target); });
  row.updates_to_target = spread_of(entry, [&](const Trial& it) {
    const Evaluation* at = first_at(it, target);
    return at == nullptr ? never : static_cast<double>(at->updates);
  });
  return row;
}

void find_behind(std::vector<Row>& rows) {
  constexpr double rounding = 1e-9;
  double best = 0;
  for (const Row& row : rows) {
    if (row.accuracy) best = std::max(best, row.accuracy->median);
  }
  for (Row& row : rows) row.behind = row.accuracy && row.accuracy->median < best - kept_accuracy - rounding;
}

}  // namespace

const Evaluation* first_at(const Trial& trial, double target) {
  const auto found =
      std::ranges::find_if(trial.evaluations, [&](const Evaluation& it) { return it.accuracy >= target; });
  return found == trial.evaluations.end() ? nullptr : &*found;
}

std::vector<Row> summarise(const Comparison& comparison) {
  const Entry *equal = nullptr, *alone = nullptr;
  for (const Entry& entry : comparison.entries) {
    if (!entry.contender.alone.empty()) alone = &entry;
    if (entry.contender.alone.empty() && entry.contender.policy == "equal" && entry.contender.sync == "bsp")
      equal = &entry;
  }
  std::vector<Row> rows;
  for (const Entry& entry : comparison.entries) {
    Row row = summary(entry, comparison.target);
    row.gain_on_equal = gain(equal, entry, comparison.target);
    row.gain_on_alone = gain(alone, entry, comparison.target);
    rows.push_back(std::move(row));
  }
  if (comparison.target <= 0) find_behind(rows);
  return rows;
}

std::vector<Row> ranked(std::vector<Row> rows, bool by_target) {
  const auto cost_of = [&](const Row& row) {
    if (by_target) return row.seconds_to_target ? row.seconds_to_target->median : never;
    return row.samples_per_s ? 1 / row.samples_per_s->median : never;
  };
  std::ranges::stable_sort(rows, {}, [&](const Row& row) {
    const double cost = cost_of(row);
    return std::tuple(cost == never, row.behind, cost);
  });
  return rows;
}

}  // namespace steelyard
