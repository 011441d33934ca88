// Tables for a terminal, of text in columns.
#pragma once

#include <string>
#include <vector>

namespace steelyard {

// How the columns after the first are aligned, which is left-aligned.
enum class Alignment {
  words,             // left
  numbers,           // right
  numbers_and_words  // right, the last one left
};

// One line for each row, without a newline: columns are as wide as their widest cell, and two blanks apart.
// All rows have as many cells as the first; cells must be safe for a terminal (app/report/terminal_text.h).
//
// If the table is wider than `width` (0: any width will do), the columns that do not fit are on a second line
// of each row, indented by four blanks: the text of a row then contains a newline.
std::vector<std::string> aligned_lines(const std::vector<std::vector<std::string>>& rows,
                                       Alignment columns = Alignment::words, std::size_t width = 0);

// The width for tables on standard output: that of the terminal; 0 elsewhere, so that a row stays one line.
std::size_t width_of_output();

}  // namespace steelyard
