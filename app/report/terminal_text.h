// Makes text safe for a terminal, and counts its columns. Names, reasons and log lines come from other
// processes, machines and files and may be any bytes; everything that is printed of them is escaped here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace steelyard {

// As printf.
[[gnu::format(printf, 1, 2)]] std::string printed(const char* format, ...);
std::string fixed(double value, int decimals);
std::string count_of(std::uint64_t number, const std::string& what);  // "1 core", "2 cores"

// One line. Control characters (C0, DEL, C1), line separators, changes of the writing direction and invalid
// UTF-8 are escaped, as \n, \x1b or \u202e. A text longer than `most` columns is cut and ends with an
// ellipsis.
std::string shown_line(std::string_view text, std::size_t most = 2000);

// The same for several lines: newlines stay, and `most` applies to each line.
std::string shown_lines(std::string_view text, std::size_t most = 2000);

// Columns of a line of UTF-8, one for each character.
std::size_t columns_of(std::string_view text);

// Width of a summary, and the column at which values begin.
inline constexpr std::size_t summary_width = 80, summary_values_at = 22;

// Lines no wider than `width`, broken at blanks and after '+' (lists of shares) if possible; each line but
// the first begins with `indent` blanks. No newline at the end.
std::string wrapped(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace steelyard
