#include "app/report/text_table.h"

#include <unistd.h>

#include <algorithm>

#include "app/report/progress_bar.h"
#include "app/report/terminal_text.h"

namespace steelyard {
namespace {

constexpr std::size_t indent = 4;

std::vector<std::size_t> widths_of(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths(rows.front().size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  return widths;
}

// The first column that does not fit; the first one always does.
std::size_t fitting(const std::vector<std::size_t>& widths, std::size_t width) {
  std::size_t used = widths.front(), i = 1;
  for (; i < widths.size() && (width == 0 || used + 2 + widths[i] <= width); ++i) used += 2 + widths[i];
  return i;
}

}  // namespace

std::vector<std::string> aligned_lines(const std::vector<std::vector<std::string>>& rows, Alignment columns,
                                       std::size_t width) {
  const std::vector<std::size_t> widths = widths_of(rows);
  const std::size_t fit = fitting(widths, width);
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string text, line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == fit) {
        text = line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
        line = std::string(indent, ' ');
      }
      const std::string blanks(widths[i] - columns_of(row[i]), ' ');
      const bool left = i == 0 || columns == Alignment::words ||
                        (columns == Alignment::numbers_and_words && i + 1 == row.size());
      line += (i == 0 || i == fit ? "" : "  ") + (left ? row[i] + blanks : blanks + row[i]);
    }
    lines.push_back(text + line.substr(0, line.find_last_not_of(' ') + 1));
  }
  return lines;
}

std::size_t width_of_output() { return isatty(STDOUT_FILENO) == 1 ? terminal_width(STDOUT_FILENO) : 0; }

}  // namespace steelyard
