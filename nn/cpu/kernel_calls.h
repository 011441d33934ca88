// Kernels at the level of this processor: those that several ops call (softmax, sums of rows, dropout), and
// the tables of pools, rows and attention.
#pragma once

#include <cstddef>

#include "core/processor.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn {

// Softmax of one row of scores.

// to[c] = scale * exp(scores[c]) / sum_k exp(scores[k]) + shift, for size >= 1 scores. A NaN among the scores
// makes all of them NaN. `to` may be `scores`.
SoftmaxSums softmax(const float* scores, std::size_t size, float scale, float shift, float* to,
                    Level level = cpu_level());

// Sums of rows, and rows with one added to each: what a bias and other learned rows need.

// to[c] = sum_r from[r][c], or += with `add`. The sum is taken from the first row to the last.
void sum_rows(Rows rows, const float* from, bool add, float* to, Level level = cpu_level());

// to[r][c] = from[r][c] + row[c]; both matrices have the same stride, and may be the same.
void add_row(Rows rows, const float* from, const float* row, float* to, Level level = cpu_level());

// Dropout in one sweep: to = from * mask, or +=, where the mask is 0 or `scale`. It is drawn on the way,
// which costs less than to write it down: forward and backward draw the same.
//
// Feature f of a sample, counted as row, column, channel in either order, has the 16 bits number f mod 4
// (from the low end) of
//
//  hash(the sample's key, f - f mod 4)      (core/random.h)
//
// and is dropped if they, read as a number, are below `dropped`. All levels draw the same.

// In each of the two orders of nn/op.h. `to` may be `from`.
void drop_in_lanes(const DropoutSweep& sweep, const float* from, bool add, float* to,
                   Level level = cpu_level());
void drop_in_samples(const DropoutSweep& sweep, const float* from, bool add, float* to,
                     Level level = cpu_level());

}  // namespace steelyard::nn

namespace steelyard::nn::cpu {

// What both pools of the CPU share.
inline const PoolTable& pool_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::pool, v3::pool, v4::pool);
}

inline const RowsTable& rows_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::rows, v3::rows, v4::rows);
}

inline const AttentionTable& attention_kernels(Level level = cpu_level()) {
  return at_level(level, baseline::attention, v3::attention, v4::attention);
}

// Floats for one head of attention: probabilities, the gradient of the scores, turned keys or values, and two
// matrices of tokens x length, with rows of whole vectors.
inline std::size_t attention_scratch(const AttentionShape& shape) {
  const auto padded = [](std::size_t size) { return (size + 15) / 16 * 16; };
  return (2 * shape.tokens + shape.length) * padded(shape.tokens) + 2 * shape.tokens * padded(shape.length);
}

}  // namespace steelyard::nn::cpu
