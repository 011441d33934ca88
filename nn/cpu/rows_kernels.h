// Kernels of the ops that only move and add: matrices of `rows` x `channels` floats, without gaps unless a
// step (in floats, from row to row) is given. Plain declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstddef>

namespace steelyard::nn {

struct RowsTable {
  // to = a + b. Any two of them may be equal.
  void (*sum)(std::size_t size, const float* a, const float* b, float* to);
  // to = from, or +=. The buffers are different.
  void (*copy)(std::size_t rows, std::size_t channels, const float* from, std::size_t from_step, float* to,
               std::size_t to_step);
  void (*add)(std::size_t rows, std::size_t channels, const float* from, std::size_t from_step, float* to,
              std::size_t to_step);
  void (*clear)(std::size_t rows, std::size_t channels, float* to, std::size_t to_step);
  // to[channel]: the mean of all rows.
  void (*mean)(std::size_t rows, std::size_t channels, const float* from, float* to);
  // to[row][channel] = from[channel] / rows, or +=.
  void (*spread)(std::size_t rows, std::size_t channels, const float* from, bool add, float* to);
  // Each row, seen as `groups` rows of `length`, is read column by column:
  // to[j groups + g] = from[g length + j], or +=. With both numbers exchanged it is the way back.
  void (*shuffle)(std::size_t rows, std::size_t groups, std::size_t length, const float* from, bool add,
                  float* to);
};

// clang-format off
namespace baseline { extern const RowsTable rows; }
namespace v3 { extern const RowsTable rows; }
namespace v4 { extern const RowsTable rows; }
// clang-format on

}  // namespace steelyard::nn
