// A comparison as a table for the terminal, and as JSON. Pure. Columns that do not fit the terminal follow in
// a second table below.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/report/compare/comparison.h"
#include "app/report/compare/summary.h"

namespace steelyard {

// With every run:
//
//   {"format":2,"comparisons":[{"kind","name","directory","seed","repeats","target","interrupted",
//     "methods":[{"policy","sync","alone","runs_good","runs_failed","runs_at_target","failure",
//       "seconds_to_target","updates_to_target","seconds","updates","samples_per_s","percent_of_ideal",
//       "accuracy","gain_on_equal","gain_on_alone",
//       "runs":[{"seed","failure","seconds","samples","updates","samples_per_s","percent_of_ideal",
//         "accuracy","directory","evaluations":[{"seconds","updates","accuracy"}]}]}]}]}
//
// Medians with their range are {"median","least","most"}; for a gain, over the gains of single repeats.
// Unknown values are null. `alone` is the name of the worker if the method is one worker alone. Methods have
// the order of the command line, runs that of the repeats.
std::string comparison_json(const std::vector<Comparison>& comparisons);

inline constexpr std::size_t any_width = SIZE_MAX;  // for a file or a pipe
std::string comparison_table(const Comparison& comparison, std::size_t width = any_width);

// A line above the table: "job demo: 3 repeats, seeds 1 to 3; target: 85.0 % test accuracy".
std::string headline(const Comparison& comparison);
// Names the first contender, its lead, and those behind in accuracy; empty with fewer than two results.
std::string verdict_line(const Comparison& comparison, const std::vector<Row>& ranking);

// Cells of a row as text, and the titles of the columns; also for the page.
std::vector<std::string> column_titles(const Comparison& comparison);
std::vector<std::string> cells(const Comparison& comparison, const Row& row);
// The columns that have a value in some row: without training, for example, no row has an accuracy.
std::vector<std::size_t> used_columns(const std::vector<std::vector<std::string>>& rows);

}  // namespace steelyard
