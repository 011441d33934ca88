#include "bench/gpu/rows.h"

#include <cstdio>

namespace steelyard::bench {

void print(const GpuRow& row) {
  const std::string figure = row.figure.empty() ? "not measured (" + row.note + ")" : row.figure;
  std::printf("%s\t%s\t%s\t%s\n", row.what.c_str(), figure.c_str(), row.beside.c_str(),
              row.figure.empty() ? "" : row.note.c_str());
  std::fflush(stdout);
}

std::string short_number(double value) {
  char text[32];
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3;
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

}  // namespace steelyard::bench
