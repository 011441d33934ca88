// The tables of the leveled kernels, a table for each group of ops, and the shapes that they take.
#pragma once

#include <cstddef>
#include <cstdint>

// The table of this name at each level.
// clang-format off
#define STEELYARD_LEVELED(Table, name)            \
  namespace baseline { extern const Table name; } \
  namespace v3 { extern const Table name; }       \
  namespace v4 { extern const Table name; }
// clang-format on

namespace steelyard::nn::direct {

// What the direct kernels and their dispatch share: shapes and tables of functions, one table
// per processor level.
//
// The pattern of every leveled kernel of the house: X.kernel.cpp is compiled once per level and defines, in a
// namespace named after the level, one table of functions; X.cpp checks its arguments and picks a table.
// Plain declarations only: an inline function here would be compiled for AVX-512 too, and the linker might
// keep that copy.

// Stride 1, a square kernel, as much padding on all four sides.
struct Convolution {
  std::uint32_t height, width;    // of an input picture
  std::uint32_t in, out;          // channels
  std::uint32_t kernel, padding;  // padding < kernel
  std::uint32_t lanes;            // 16 or 32
};

// Windows of size x size that do not overlap. Rows and columns that fill no window are left out.
struct Pool {
  std::uint32_t height, width, channels;  // of an input picture
  std::uint32_t size;
  std::uint32_t lanes;  // 16 or 32
};

struct ConvolutionTable {
  void (*forward)(const Convolution&, const float* input, const float* weights, const float* bias, bool relu,
                  float* output);
  void (*backward_weights)(const Convolution&, const float* input, const float* d_output, bool add,
                           float* d_weights, float* d_bias);
  void (*backward_data)(const Convolution&, const float* d_output, const float* weights, float* d_input);
};

struct PoolTable {
  void (*relu_backward)(const float* output, float* gradient, std::size_t size);
  void (*max_forward)(const Pool&, const float* input, float* output);
  void (*max_backward)(const Pool&, const float* input, const float* d_output, bool relu, float* d_input);
  void (*average_forward)(const Pool&, const float* input, float* output);
  void (*average_backward)(const Pool&, const float* d_output, float* d_input);
};

struct TransposeTable {
  void (*to_lanes)(std::uint32_t pixels, std::uint32_t channels, std::uint32_t lanes, std::uint32_t count,
                   const float* samples, float* picture);
  void (*from_lanes)(std::uint32_t pixels, std::uint32_t channels, std::uint32_t lanes, std::uint32_t count,
                     const float* picture, float* samples);
};

STEELYARD_LEVELED(ConvolutionTable, convolution)
STEELYARD_LEVELED(PoolTable, pool)
STEELYARD_LEVELED(TransposeTable, transpose)

}  // namespace steelyard::nn::direct

namespace steelyard::nn {

// What activations and their kernels share.

// One function for each Activation::Kind, in its order. Any two pointers of a call may be equal.
struct ActivationTable {
  static constexpr int kinds = 9;
  using Forward = void (*)(std::size_t size, const float* input, float* output);
  // d_input = derivative * d_output, or += for the adding ones. `kept` is the output of forward(), but the
  // input for both gelu, silu and hard_swish.
  using Backward = void (*)(std::size_t size, const float* kept, const float* d_output, float* d_input);
  Forward forward[kinds];
  Backward backward[kinds];
  Backward add_backward[kinds];
};

STEELYARD_LEVELED(ActivationTable, activation)

// What attention and its kernels share.
//
// One call is for one sample: input [token][q, k, v][head][feature], output [token][head][feature]. `scratch`
// are attention_scratch() floats.
struct AttentionShape {
  std::size_t tokens, heads, length;  // features of one head
  bool causal;
  float scale;  // of scores: 1 / sqrt(length)
};

struct AttentionTable {
  void (*forward)(const AttentionShape&, const float* input, float* output, float* scratch);
  // Finds the probabilities again.
  void (*backward)(const AttentionShape&, const float* input, const float* d_output, bool add, float* d_input,
                   float* scratch);
};

STEELYARD_LEVELED(AttentionTable, attention)

// What the norms and their kernels share; nn/cpu/columns.h says what each function is for. Matrices of `rows`
// x `channels` floats without gaps.
struct GradientSweep {
  std::size_t rows, channels;
  const float *x, *mean, *d_output;
  const float* output;  // null: no ReLU
  float *masked, *added;
};

struct ColumnsTable {
  void (*sums)(std::size_t rows, std::size_t channels, const float* x, const float* shift, double* sums,
               double* squares);
  void (*normalize)(std::size_t rows, std::size_t channels, const float* x, const float* mean,
                    const float* scale, const float* bias, const float* residual, bool relu, float* to);
  void (*gradient_sums)(const GradientSweep& sweep, double* sums, double* dots);
  void (*gradient)(std::size_t rows, std::size_t channels, const float* x, const float* mean,
                   const float* gradient, const float* by_gradient, const float* by_x, const float* constant,
                   bool add, float* to);
};

STEELYARD_LEVELED(ColumnsTable, columns)

// What the sweeps of dropout and their kernels share.
struct DropoutSweep {
  std::uint64_t pixels, channels;  // of a sample
  std::uint32_t places;            // samples that the buffers hold; in lanes 16 or 32
  const std::uint64_t* keys;       // one a place
  std::uint32_t dropped;           // of 65536
  float scale;                     // of what is left
};

struct DropoutTable {
  void (*lanes)(const DropoutSweep& sweep, const float* from, bool add, float* to);
  void (*samples)(const DropoutSweep& sweep, const float* from, bool add, float* to);
};

STEELYARD_LEVELED(DropoutTable, dropout)

// What layer norm and its kernels share. Matrices of `rows` x `channels` floats without gaps.
struct LayerNormTable {
  // Keeps mean and 1 / sqrt(variance + epsilon) of each row in `statistics`.
  void (*forward)(std::size_t rows, std::size_t channels, const float* x, const float* weight,
                  const float* bias, float epsilon, float* statistics, float* to);
  // d_weight and d_bias are added to; d_x is written, or added to with `add`, or null. It may be d_output.
  void (*backward)(std::size_t rows, std::size_t channels, const float* x, const float* weight,
                   const float* statistics, const float* d_output, float* d_weight, float* d_bias, bool add,
                   float* d_x);
};

STEELYARD_LEVELED(LayerNormTable, layer_norm)

// What pools over pictures in the order of samples and their kernels share.
struct PoolWindows {
  std::uint32_t height, width, channels;  // of an input picture
  std::uint32_t out_height, out_width;
  std::uint32_t size, stride, padding;
  std::uint64_t samples;
};

// The greatest of a window is remembered by its number in the window, row by row: one for each number of the
// output, and `slack` more behind them.
using PlaceInWindow = std::uint16_t;
inline constexpr std::size_t slack = 16;

// Backward writes every number of the gradient of the input, or adds to it.
struct PoolTable {
  // `places` may be null: nothing is remembered.
  void (*max_forward)(const PoolWindows&, const float* input, float* output, PlaceInWindow* places);
  void (*max_backward)(const PoolWindows&, const PlaceInWindow* places, const float* d_output, bool add,
                       float* d_input);
  void (*average_forward)(const PoolWindows&, const float* input, float* output);
  void (*average_backward)(const PoolWindows&, const float* d_output, bool add, float* d_input);
};

STEELYARD_LEVELED(PoolTable, pool)

// What sums of rows and their kernels share.

// A row-major matrix whose rows lie `stride` floats apart.
struct Rows {
  std::size_t count, columns, stride;
};

struct RowSumsTable {
  void (*sum)(Rows, const float* from, bool add, float* to);
  void (*add)(Rows, const float* from, const float* row, float* to);
};

STEELYARD_LEVELED(RowSumsTable, row_sums)

// Kernels of the ops that only move and add: matrices of `rows` x `channels` floats, without gaps unless a
// step (in floats, from row to row) is given.
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

STEELYARD_LEVELED(RowsTable, rows)

// What scale and its kernels share: a matrix of `rows` x `channels` floats without gaps, and one factor a
// channel.
struct ScaleTable {
  void (*forward)(std::size_t rows, std::size_t channels, const float* a, const float* factors, float* to);
  // d_a = factors d_output, or += with `add`, or nothing if null; it may be d_output.
  // d_factors += the sums of a d_output.
  void (*backward)(std::size_t rows, std::size_t channels, const float* a, const float* factors,
                   const float* d_output, bool add, float* d_a, float* d_factors);
};

STEELYARD_LEVELED(ScaleTable, scale)

// What softmax and its kernels share.

// Of the scores of one row: the greatest, the sum of exp(score - top), and the sum of score - top.
struct SoftmaxSums {
  float top, exponentials, distances;
};

struct SoftmaxTable {
  SoftmaxSums (*softmax)(const float* scores, std::size_t size, float scale, float shift, float* to);
};

STEELYARD_LEVELED(SoftmaxTable, softmax_kernels)

}  // namespace steelyard::nn
