// The table of a run: each figure with a limit that was measured within the same minutes.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/pairs.h"

namespace steelyard::bench {

struct Row {
  std::string figure;
  std::string unit;
  Spread ours;
  std::string limit;  // name of the limit; empty: not compared
  Spread other;
  bool less_is_better = false;   // the ratio remains ours / other; a target is an upper bound
  std::optional<double> target;  // of the ratio

  [[nodiscard]] double ratio() const { return other.median > 0 ? ours.median / other.median : 0; }
  [[nodiscard]] bool met() const { return less_is_better ? ratio() <= *target : ratio() >= *target; }
};

class Table {
 public:
  // A heading for the following rows that describes the comparison.
  void section(std::string title);
  void add(Row row);            // also printed to standard error immediately
  void note(std::string line);  // a free line; also printed immediately
  void print(std::FILE* to) const;
  // One line for each row, with tabs between: section, figure, unit, median, name of the limit, its median,
  // target of the ratio. What a row lacks is empty.
  void print_rows(std::FILE* to) const;

 private:
  std::vector<std::string> lines_;
  std::string section_;
  std::vector<std::pair<std::string, Row>> rows_;  // with their sections
};

}  // namespace steelyard::bench
