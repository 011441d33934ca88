// Sums of rows, and rows with one added to each: what a bias and other learned rows need.
#pragma once

#include "core/level.h"
#include "nn/cpu/row_sums_kernels.h"

namespace steelyard::nn {

// to[c] = sum_r from[r][c], or += with `add`. The sum is taken from the first row to the last.
void sum_rows(Rows rows, const float* from, bool add, float* to, Level level = cpu_level());

// to[r][c] = from[r][c] + row[c]; both matrices have the same stride, and may be the same.
void add_row(Rows rows, const float* from, const float* row, float* to, Level level = cpu_level());

}  // namespace steelyard::nn
