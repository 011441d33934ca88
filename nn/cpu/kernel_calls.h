// Calls of kernels at the level of this processor: those that several ops use (softmax, sums of rows,
// dropout), and the tables of pools, rows and attention.
#pragma once

#include <cstddef>

#include "core/processor.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn {

// Softmax of one row of scores.

// to[c] = scale * exp(scores[c]) / sum_k exp(scores[k]) + shift, for size >= 1 scores. If any score is NaN,
// all results are NaN. `to` may be `scores`.
SoftmaxSums softmax(const float* scores, std::size_t size, float scale, float shift, float* to,
                    Level level = cpu_level());

// Sums of rows, and the addition of one row to each: for biases and other learned rows.

// to[c] = sum_r from[r][c], or += with `add`. Sums from the first row to the last.
void sum_rows(Rows rows, const float* from, bool add, float* to, Level level = cpu_level());

// to[r][c] = from[r][c] + row[c]; both matrices have the same stride, and may be the same.
void add_row(Rows rows, const float* from, const float* row, float* to, Level level = cpu_level());

// Dropout in one sweep: to = from * mask, or +=, where the mask is 0 or `scale`. Forward and backward draw
// the mask again, which is cheaper than storing it.
//
// Feature f of a sample, numbered by row, column, channel in either order, uses the 16-bit field number f mod
// 4 (from the low end) of
//
// hash(the sample's key, f - f mod 4)      (include/steelyard/hash.h)
//
// and is dropped if that field, as a number, is below `dropped`. All levels draw the same.

// For the two orders of nn/op.h. `to` may be `from`.
void drop_in_lanes(const DropoutSweep& sweep, const float* from, bool add, float* to,
                   Level level = cpu_level());
void drop_in_samples(const DropoutSweep& sweep, const float* from, bool add, float* to,
                     Level level = cpu_level());

}  // namespace steelyard::nn

namespace steelyard::nn::cpu {

// Shared by both pool ops of the CPU.
inline const PoolTable& pool_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::pool, v3::pool, v4::pool);
}

inline const RowsTable& rows_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::rows, v3::rows, v4::rows);
}

inline const AttentionTable& attention_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::attention, v3::attention, v4::attention);
}

// Floats of scratch for one head of attention: probabilities, the gradient of the scores, transposed keys or
// values, and two matrices of tokens x length with rows padded to whole vectors.
inline std::size_t attention_scratch(const AttentionShape& shape) {
  const auto padded = [](std::size_t size) { return (size + 15) / 16 * 16; };
  return (2 * shape.tokens + shape.length) * padded(shape.tokens) + 2 * shape.tokens * padded(shape.length);
}

}  // namespace steelyard::nn::cpu
