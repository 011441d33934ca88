#include "app/report/compare/comparison_json.h"

#include "core/json.h"
#include "app/report/compare/summary.h"

namespace steelyard {
namespace {

Json or_null(double value) { return value < 0 ? Json() : Json(value); }
Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }
Json or_null(const std::optional<Spread>& value) {
  if (!value) return {};
  return {{"median", value->median}, {"least", value->least}, {"most", value->most}};
}

Json run_json(const Trial& trial, std::uint64_t seed) {
  Json evaluations = Json::array();
  for (const Evaluation& it : trial.evaluations) {
    evaluations.push_back({{"seconds", it.seconds}, {"updates", it.updates}, {"accuracy", it.accuracy}});
  }
  return {{"seed", seed},
          {"failure", or_null(trial.failure)},
          {"seconds", trial.seconds},
          {"samples", trial.samples},
          {"updates", trial.updates},
          {"samples_per_s", or_null(trial.samples_per_s())},
          {"percent_of_ideal", or_null(trial.percent_of_ideal)},
          {"efficiency", or_null(trial.efficiency)},
          {"accuracy", or_null(trial.accuracy)},
          {"directory", or_null(trial.directory)},
          {"evaluations", evaluations}};
}

Json method_json(const Row& row, const Entry& entry, std::uint64_t seed) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < entry.trials.size(); ++i) runs.push_back(run_json(entry.trials[i], seed + i));
  return {{"policy", row.entrant.policy},
          {"sync", row.entrant.sync},
          {"alone", or_null(row.entrant.alone)},
          {"runs_good", row.good},
          {"runs_failed", row.failed},
          {"runs_at_target", row.reached},
          {"failure", or_null(row.failure)},
          {"seconds_to_target", or_null(row.seconds_to_target)},
          {"updates_to_target", or_null(row.updates_to_target)},
          {"seconds", or_null(row.seconds)},
          {"updates", or_null(row.updates)},
          {"samples_per_s", or_null(row.samples_per_s)},
          {"percent_of_ideal", or_null(row.percent_of_ideal)},
          {"efficiency", or_null(row.efficiency)},
          {"accuracy", or_null(row.accuracy)},
          {"gain_on_equal", or_null(row.gain_on_equal)},
          {"gain_on_alone", or_null(row.gain_on_alone)},
          {"runs", runs}};
}

}  // namespace

std::string comparison_json(const std::vector<Comparison>& comparisons) {
  Json list = Json::array();
  for (const Comparison& it : comparisons) {
    const std::vector<Row> rows = summarise(it);
    Json methods = Json::array();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      methods.push_back(method_json(rows[i], it.entries[i], it.seed));
    }
    list.push_back({{"kind", it.kind},
                    {"name", it.name},
                    {"directory", or_null(it.directory)},
                    {"seed", it.seed},
                    {"repeats", it.repeats},
                    {"target", it.target > 0 ? Json(it.target) : Json()},
                    {"interrupted", it.interrupted},
                    {"methods", methods}});
  }
  // Names and reasons may be any bytes; the result must come out whatever they are.
  return dump_json(Json{{"format", 2}, {"comparisons", list}}, 2) + "\n";
}

}  // namespace steelyard
