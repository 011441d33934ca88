// Kernels on plain arrays and matrices of the device, which several ops call: sums, copies, an order. Each
// call adds its work to the stream.
#pragma once

#include <cstdint>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// to[i] += from[i], of n floats.
void add_up(Stream& stream, std::uint64_t n, const float* from, float* to);
// The same with `add`, and to[i] = from[i] without, which is nothing where the two are one buffer.
void give(Stream& stream, std::uint64_t n, const float* from, bool add, float* to);

// to[r][c] += bias[c], of a matrix whose rows begin `row` floats behind each other: where neither cuBLASLt
// nor cuDNN adds the bias itself.
void add_bias(Stream& stream, const float* bias, std::uint64_t rows, std::uint32_t columns, std::uint32_t row,
              float* to);

// The gradient of a bias: out[c] = sum over r of in[r][c], or that is added to it.
void column_sums(Stream& stream, const float* in, std::uint64_t rows, std::uint32_t columns, bool add,
                 float* out);

// The same for many rows: in two stages, with so many floats of workspace.
std::uint64_t column_sums_workspace(std::uint64_t rows, std::uint32_t columns);
void column_sums(Stream& stream, const float* in, std::uint64_t rows, std::uint32_t columns, bool add,
                 float* out, float* workspace);

// Some neighbouring channels of every place, from pictures of one number of channels to those of another.
struct Columns {
  std::uint32_t samples;
  std::uint64_t places;  // of a sample
  std::uint32_t count;   // channels that are moved
};

// to[s][p][c] = from[s][p][c] for the c below `count`, or += with `add`; from_row and to_row are the
// channels that the pictures have.
void copy_columns(Stream& stream, const Columns& columns, const float* from, std::uint32_t from_row, bool add,
                  float* to, std::uint32_t to_row);

// From [matrix][row][column] to [matrix][column][row], of so many matrices; with `add`, added
// to what is there. Not in place.
void turn(Stream& stream, std::uint32_t matrices, std::uint32_t rows, std::uint32_t columns, const float* in,
          float* out, bool add = false);

// Tokens in the order of the rows of a table that they name (row_of in nn/cuda/kernel.h). Arrays have a
// number for each token: rows ascend, and tokens of one row keep their order.
struct Sorted {
  std::uint32_t *rows, *tokens;
};
void sort_tokens(Stream& stream, const float* numbers, std::uint32_t tokens, std::uint32_t rows,
                 Sorted sorted);

}  // namespace steelyard::nn::cuda
