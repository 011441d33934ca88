// Text as it may stand on a terminal, and in how many columns. Names, reasons and log lines come from other
// processes, machines and files, and may be any bytes: whatever of them is printed goes through here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace steelyard {

// A text as printf has it.
[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);
std::string fixed(double value, int decimals);
std::string count_of(std::uint64_t number, const std::string& what);  // "1 core", "2 cores"

// One line: what a terminal would act upon instead of showing it stands there as \n, \x1b or \u202e - control
// characters (C0, DEL, C1), line separators, changes of the writing direction, and bytes that are no UTF-8.
// Longer than `most` columns, it is cut and ends with an ellipsis.
std::string shown_line(std::string_view text, std::size_t most = 2000);

// The same of several lines: newlines stay, and `most` is for each line.
std::string shown_lines(std::string_view text, std::size_t most = 2000);

// How wide a line of UTF-8 is, a character a column.
std::size_t columns_of(std::string_view text);

// Columns of a summary, of which the values of its rows begin at one.
inline constexpr std::size_t summary_width = 80, summary_values_at = 22;

// Lines no wider than `width`, broken at blanks and behind '+' (lists of shares), where there are some; each
// line but the first begins with `indent` blanks. Without a newline at the end.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace steelyard
