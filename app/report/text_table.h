// Tables for a terminal, of text in columns.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

// One line for each row, without a newline: columns are left-aligned, as wide as their widest cell, and two
// blanks apart. All rows have as many cells as the first; cells must be safe for a terminal
// (app/report/terminal_text.h).
std::vector<std::string> aligned_lines(const std::vector<std::vector<std::string>>& rows);

}  // namespace steelyard
