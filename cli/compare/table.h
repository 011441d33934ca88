// A comparison for people: a table for the terminal. Pure.
#pragma once

#include <string>

#include "cli/compare/result.h"
#include "cli/compare/summary.h"

namespace steelyard {

std::string comparison_table(const Comparison& comparison);

// What the table is about, in a line: "demo, a job, 3 repeats from seed 1; target 85.0 % of the test set".
std::string headline(const Comparison& comparison);
// Who is first, and by how much; empty if that cannot be said.
std::string verdict_line(const Comparison& comparison, const std::vector<Row>& ranking);

// The cells of a row as text, and what stands above them: shared with the report.
std::vector<std::string> column_titles(const Comparison& comparison);
std::vector<std::string> cells(const Comparison& comparison, const Row& row);

std::string fixed(double value, int decimals);  // as printf has it

}  // namespace steelyard
