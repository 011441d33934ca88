// Kernels on plain arrays and matrices of the device, called by several ops: sums, copies, sorting. Each call
// adds its work to the stream. T, From and To are float or Bf16; sums are in float32.
#pragma once

#include <cstdint>

#include "nn/cuda/bf16.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// to[i] = x[i] + y[i], for n numbers. `to` may be one of the others.
template <class T>
void add_arrays(Stream& stream, std::uint64_t n, const T* x, const T* y, T* to);
// to[i] += from[i]
template <class T>
void add_up(Stream& stream, std::uint64_t n, const T* from, T* to) {
  add_arrays(stream, n, from, static_cast<const T*>(to), to);
}
// to[i] += from[i] with `add`, else to[i] = from[i], which does nothing if both are the same buffer.
template <class T>
void give(Stream& stream, std::uint64_t n, const T* from, bool add, T* to);
// to[i] = from[i], or += with `add`, in the other type.
template <class From, class To>
void cast(Stream& stream, std::uint64_t n, const From* from, bool add, To* to);

// to[r][c] += bias[c], for a matrix with rows `row` numbers apart: used if neither cuBLASLt nor cuDNN adds
// the bias.
template <class From, class To>
void add_bias(Stream& stream, const From* bias, std::uint64_t rows, std::uint32_t columns, std::uint32_t row,
              To* to);

// The gradient of a bias: out[c] = sum over r of in[r][c], or += with `add`. For few rows: one block sums 32
// columns.
constexpr std::uint64_t one_stage_rows = 4096;
template <class T>
void column_sums(Stream& stream, const T* in, std::uint64_t rows, std::uint32_t columns, bool add,
                 float* out);

// The same for any number of rows: in two stages if there are many, with this many floats of workspace.
std::uint64_t column_sums_workspace(std::uint64_t rows, std::uint32_t columns);
template <class T>
void column_sums(Stream& stream, const T* in, std::uint64_t rows, std::uint32_t columns, bool add, float* out,
                 float* workspace);

// Some neighbouring channels of every place, copied between pictures with different numbers of channels.
struct Columns {
  std::uint32_t samples;
  std::uint64_t places;  // of a sample
  std::uint32_t count;   // channels copied
};

// to[s][p][c] = from[s][p][c] for c < `count`, or += with `add`; from_row and to_row are the numbers of
// channels of the pictures.
template <class T>
void copy_columns(Stream& stream, const Columns& columns, const T* from, std::uint32_t from_row, bool add,
                  T* to, std::uint32_t to_row);

// Transposes each [matrix][row][column] to [matrix][column][row]; with `add`, adds to the result. Not in
// place.
template <class From, class To>
void turn(Stream& stream, std::uint32_t matrices, std::uint32_t rows, std::uint32_t columns, const From* in,
          To* out, bool add = false);

// Sorts tokens by the row of a table that they name (row_of in nn/cuda/kernel.h). `keys` gets one number per
// token, ascending: the row in the upper 32 bits and the token in the lower ones, so tokens of one row keep
// their order. `other` is workspace of the same size.
void sort_tokens(Stream& stream, const float* numbers, std::uint32_t tokens, std::uint32_t rows,
                 std::uint64_t* keys, std::uint64_t* other);

}  // namespace steelyard::nn::cuda
