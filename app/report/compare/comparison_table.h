// A comparison for people: a table for the terminal. Pure.
//
// Where not all columns fit, the table goes on below with the others: no line is wider than the terminal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/report/compare/comparison.h"
#include "app/report/compare/summary.h"

namespace steelyard {

// A comparison as JSON, with every run of it. Pure.
//
//   {"format":2,"comparisons":[{"kind","name","directory","seed","repeats","target","interrupted",
//     "methods":[{"policy","sync","alone","runs_good","runs_failed","runs_at_target","failure",
//       "seconds_to_target","updates_to_target","seconds","updates","samples_per_s","percent_of_ideal",
//       "accuracy","gain_on_equal","gain_on_alone",
//       "runs":[{"seed","failure","seconds","samples","updates","samples_per_s","percent_of_ideal",
//         "accuracy","directory","evaluations":[{"seconds","updates","accuracy"}]}]}]}]}
//
// Medians with their range are {"median","least","most"}; that of a gain is over the gains of single repeats.
// What is not known is null. `alone` is the worker of a method that is one device alone. Methods are in the
// order of the command line; runs in the order of repeats.
std::string comparison_json(const std::vector<Comparison>& comparisons);

inline constexpr std::size_t any_width = SIZE_MAX;  // of a file, or a pipe
std::string comparison_table(const Comparison& comparison, std::size_t width = any_width);

// What the table is about, in a line: "demo, a job, 3 repeats from seed 1; target 85.0 % of the test set".
std::string headline(const Comparison& comparison);
// Which contender is first and by how much, and which are behind in accuracy; empty if that cannot be said.
std::string verdict_line(const Comparison& comparison, const std::vector<Row>& ranking);

// The cells of a row as text, and what stands above them: shared with the report.
std::vector<std::string> column_titles(const Comparison& comparison);
std::vector<std::string> cells(const Comparison& comparison, const Row& row);
// The columns of such rows that say something of somebody: without a training nobody has an accuracy.
std::vector<std::size_t> used_columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace steelyard
