#include "bench/bench_table.h"

#include <cmath>

namespace steelyard::bench {
namespace {

// Four significant digits, without an exponent.
std::string number(double value) {
  char text[32];
  const int before = value > 0 ? static_cast<int>(std::floor(std::log10(value))) + 1 : 1;
  std::snprintf(text, sizeof text, "%.*f", std::max(0, std::min(3, 4 - before)), value);
  return text;
}

std::string shown(const Spread& spread) {
  return number(spread.median) + " [" + number(spread.lowest) + ".." + number(spread.highest) + "]";
}

std::string line_of(const std::string& figure, const std::string& ours, const std::string& limit,
                    const std::string& ratio, const std::string& target, const std::string& verdict) {
  char text[256];
  std::snprintf(text, sizeof text, "%-42s %-30s %-38s %6s  %-8s %s", figure.c_str(), ours.c_str(),
                limit.c_str(), ratio.c_str(), target.c_str(), verdict.c_str());
  std::string line = text;
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

}  // namespace

void Table::section(std::string title) {
  lines_.push_back("");
  section_ = title;
  lines_.push_back(std::move(title));
  std::fprintf(stderr, "\n%s\n", lines_.back().c_str());
}

void Table::add(Row row) {
  const bool compared = !row.limit.empty();
  const std::string target = row.target ? (row.less_is_better ? "<= " : ">= ") + number(*row.target) : "-";
  lines_.push_back(line_of(
      row.figure, shown(row.ours) + " " + row.unit, compared ? row.limit + " " + shown(row.other) : "-",
      compared ? number(row.ratio()) : "-", target, row.target ? (row.met() ? "met" : "MISSED") : "-"));
  std::fprintf(stderr, "%s\n", lines_.back().c_str());
  rows_.emplace_back(section_, std::move(row));
}

void Table::note(std::string line) {
  lines_.push_back(std::move(line));
  std::fprintf(stderr, "%s\n", lines_.back().c_str());
}

void Table::print(std::FILE* to) const {
  const std::string head =
      line_of("figure", "median [min..max]", "limit in the same run", "ratio", "target", "");
  std::fprintf(to, "\n%s\n", head.c_str());
  for (const std::string& line : lines_) std::fprintf(to, "%s\n", line.c_str());
}

void Table::print_rows(std::FILE* to) const {
  for (const auto& [section, it] : rows_) {
    std::fprintf(to, "%s\t%s\t%s\t%.6g\t%s\t", section.c_str(), it.figure.c_str(), it.unit.c_str(),
                 it.ours.median, it.limit.c_str());
    if (!it.limit.empty()) std::fprintf(to, "%.6g", it.other.median);
    std::fprintf(to, "\t");
    if (it.target) std::fprintf(to, "%s%.6g", it.less_is_better ? "<=" : ">=", *it.target);
    std::fprintf(to, "\n");
  }
}

}  // namespace steelyard::bench
