#include "nn/cpu/row_sums.h"

#include "nn/cpu/leveled.h"

namespace steelyard::nn {
namespace {

const RowSumsTable& row_sums_table(Level level) {
  return at_level(level, baseline::row_sums, v3::row_sums, v4::row_sums);
}

}  // namespace

void sum_rows(Rows rows, const float* from, bool add, float* to, Level level) {
  row_sums_table(level).sum(rows, from, add, to);
}

void add_row(Rows rows, const float* from, const float* row, float* to, Level level) {
  row_sums_table(level).add(rows, from, row, to);
}

}  // namespace steelyard::nn
