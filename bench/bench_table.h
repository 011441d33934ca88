// The table of a run: each figure beside a limit that was measured in the same minutes.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "bench/pairs.h"

namespace steelyard::bench {

struct Row {
  std::string figure;
  std::string unit;
  Spread ours;
  std::string limit;  // what it is compared with; empty: nothing
  Spread other;
  bool less_is_better = false;   // then the ratio is still ours / other, and a target is an upper bound
  std::optional<double> target;  // of the ratio

  [[nodiscard]] double ratio() const { return other.median > 0 ? ours.median / other.median : 0; }
  [[nodiscard]] bool met() const { return less_is_better ? ratio() <= *target : ratio() >= *target; }
};

class Table {
 public:
  // A heading for the rows that follow, with a sentence on what is compared.
  void section(std::string title);
  void add(Row row);            // shown at once, for whoever waits
  void note(std::string line);  // a line of another shape; shown at once too
  void print(std::FILE* to) const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace steelyard::bench
