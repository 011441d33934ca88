#include "nn/cpu/kernel_calls.h"

#include "core/check.h"

namespace steelyard::nn {

SoftmaxSums softmax(const float* scores, std::size_t size, float scale, float shift, float* to, Level level) {
  CHECK(size > 0, "softmax of no scores");
  return at_level(level, baseline::softmax_kernels, v3::softmax_kernels, v4::softmax_kernels)
      .softmax(scores, size, scale, shift, to);
}

namespace {

const RowSumsTable& row_sums_table(Level level) {
  return at_level(level, baseline::row_sums, v3::row_sums, v4::row_sums);
}

const DropoutTable& dropout_table(Level level) {
  return at_level(level, baseline::dropout, v3::dropout, v4::dropout);
}

}  // namespace

void sum_rows(Rows rows, const float* from, bool add, float* to, Level level) {
  row_sums_table(level).sum(rows, from, add, to);
}

void add_row(Rows rows, const float* from, const float* row, float* to, Level level) {
  row_sums_table(level).add(rows, from, row, to);
}

void drop_in_lanes(const DropoutSweep& sweep, const float* from, bool add, float* to, Level level) {
  CHECK(sweep.places > 0 && sweep.places % 16 == 0, "lanes are a multiple of 16");
  dropout_table(level).lanes(sweep, from, add, to);
}

void drop_in_samples(const DropoutSweep& sweep, const float* from, bool add, float* to, Level level) {
  dropout_table(level).samples(sweep, from, add, to);
}

}  // namespace steelyard::nn
