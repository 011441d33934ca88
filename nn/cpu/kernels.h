// Tables of kernels compiled per level, one for each group of ops, and the shapes that they take.
#pragma once

#include <cstddef>
#include <cstdint>

// Declares the table of this name at each level.
// clang-format off
#define STEELYARD_LEVELED(Table, name)            \
  namespace baseline { extern const Table name; } \
  namespace v3 { extern const Table name; }       \
  namespace v4 { extern const Table name; }
// clang-format on

namespace steelyard::nn::direct {

// Shared by the direct kernels and their dispatch: shapes and tables of functions, one table per processor
// level.
//
// The pattern of all kernels with levels: X.kernel.cpp is compiled once per level and defines, in a namespace
// named after the level, one table of functions; X.cpp checks its arguments and selects a table. Only plain
// declarations are allowed here: an inline function would also be compiled for AVX-512, and the linker might
// keep that copy.

// Stride 1, a square kernel, the same padding on all four sides.
struct Convolution {
  std::uint32_t height, width;    // of an input picture
  std::uint32_t in, out;          // channels
  std::uint32_t kernel, padding;  // padding < kernel
  std::uint32_t lanes;            // 16 or 32
};

// Windows of size x size that do not overlap. Rows and columns that fill no window are ignored.
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

// Shared by activations and their kernels.

// Numbers of activations in bfloat16, as kernels take them; the others are floats. nn/cpu/stored.h has their
// arithmetic.
using Bf16Bits = std::uint16_t;

// One function for each Activation::Kind, in order. Any two pointers of a call may be equal. T: float or
// Bf16Bits.
template <class T>
struct ActivationTableOf {
  static constexpr int kinds = 9;
  using Forward = void (*)(std::size_t size, const T* input, T* output);
  // d_input = derivative * d_output, or += in add_backward. `kept` is the output of forward(), except for
  // both kinds of gelu, silu and hard_swish: there it is the input.
  using Backward = void (*)(std::size_t size, const T* kept, const T* d_output, T* d_input);
  Forward forward[kinds];
  Backward backward[kinds];
  Backward add_backward[kinds];
};

using ActivationTable = ActivationTableOf<float>;

STEELYARD_LEVELED(ActivationTable, activation)
STEELYARD_LEVELED(ActivationTableOf<Bf16Bits>, activation_bf16)

// Moves of numbers between the storages, rounded to the nearest. Different buffers, unless both are in bf16.
struct StorageTable {
  void (*widen)(std::size_t size, const Bf16Bits* from, float* to);
  void (*narrow)(std::size_t size, const float* from, Bf16Bits* to);
  // to += from
  void (*add_wide)(std::size_t size, const Bf16Bits* from, float* to);
  void (*add_narrow)(std::size_t size, const float* from, Bf16Bits* to);
  // to = a + b
  void (*sum)(std::size_t size, const Bf16Bits* a, const Bf16Bits* b, Bf16Bits* to);
  // to[c] = sum_r from[r][c], or += with `add`, in float32; without gaps between rows.
  void (*sum_rows)(std::size_t rows, std::size_t columns, const Bf16Bits* from, bool add, float* to);
};

STEELYARD_LEVELED(StorageTable, storage)

// Shared by attention and its kernels.
//
// One call processes one sample: input [token][q, k, v][head][feature], output [token][head][feature].
// `scratch` has attention_scratch() floats.
struct AttentionShape {
  std::size_t tokens, heads, length;  // features of one head
  bool causal;
  float scale;  // of scores: 1 / sqrt(length)
};

struct AttentionTable {
  void (*forward)(const AttentionShape&, const float* input, float* output, float* scratch);
  // Recomputes the probabilities.
  void (*backward)(const AttentionShape&, const float* input, const float* d_output, bool add, float* d_input,
                   float* scratch);
};

STEELYARD_LEVELED(AttentionTable, attention)

// Shared by the norms and their kernels; nn/cpu/columns.h describes each function. Matrices of `rows` x
// `channels` numbers without gaps. T: float or Bf16Bits.
template <class T>
struct GradientSweep {
  std::size_t rows, channels;
  const T* x;
  const float* mean;
  const T* d_output;
  const T* output;  // null: no ReLU
  T *masked, *added;
};

template <class T>
struct ColumnsTable {
  void (*sums)(std::size_t rows, std::size_t channels, const T* x, const float* shift, double* sums,
               double* squares);
  void (*normalize)(std::size_t rows, std::size_t channels, const T* x, const float* mean, const float* scale,
                    const float* bias, const T* residual, bool relu, T* to);
  void (*gradient_sums)(const GradientSweep<T>& sweep, double* sums, double* dots);
  void (*gradient)(std::size_t rows, std::size_t channels, const T* x, const float* mean, const T* gradient,
                   const float* by_gradient, const float* by_x, const float* constant, bool add, T* to);
};

STEELYARD_LEVELED(ColumnsTable<float>, columns)
STEELYARD_LEVELED(ColumnsTable<Bf16Bits>, columns_bf16)

// Shared by the sweeps of dropout and their kernels.
struct DropoutSweep {
  std::uint64_t pixels, channels;  // of a sample
  std::uint32_t places;            // samples that the buffers hold; in lanes a multiple of 16
  const std::uint64_t* keys;       // one per place
  std::uint32_t dropped;           // of 65536
  float scale;                     // of the features kept
};

struct DropoutTable {
  void (*lanes)(const DropoutSweep& sweep, const float* from, bool add, float* to);
  void (*samples)(const DropoutSweep& sweep, const float* from, bool add, float* to);
};

STEELYARD_LEVELED(DropoutTable, dropout)

// Shared by layer norm and its kernels. Matrices of `rows` x `channels` floats without gaps.
struct LayerNormTable {
  // Stores mean and 1 / sqrt(variance + epsilon) of each row in `statistics`.
  void (*forward)(std::size_t rows, std::size_t channels, const float* x, const float* weight,
                  const float* bias, float epsilon, float* statistics, float* to);
  // Adds to d_weight and d_bias; d_x is written, added to with `add`, or null. It may be d_output.
  void (*backward)(std::size_t rows, std::size_t channels, const float* x, const float* weight,
                   const float* statistics, const float* d_output, float* d_weight, float* d_bias, bool add,
                   float* d_x);
};

STEELYARD_LEVELED(LayerNormTable, layer_norm)

// Shared by pools over pictures in the order of samples and their kernels.
struct PoolWindows {
  std::uint32_t height, width, channels;  // of an input picture
  std::uint32_t out_height, out_width;
  std::uint32_t size, stride, padding;
  std::uint64_t samples;
};

// The position of a window's maximum, row by row in the window: one per output value, plus `slack` unused
// ones behind them.
using PlaceInWindow = std::uint16_t;
inline constexpr std::size_t slack = 16;

// Backward writes, or adds to, every value of the input's gradient.
struct PoolTable {
  // `places` may be null: positions are then not stored.
  void (*max_forward)(const PoolWindows&, const float* input, float* output, PlaceInWindow* places);
  void (*max_backward)(const PoolWindows&, const PlaceInWindow* places, const float* d_output, bool add,
                       float* d_input);
  void (*average_forward)(const PoolWindows&, const float* input, float* output);
  void (*average_backward)(const PoolWindows&, const float* d_output, bool add, float* d_input);
};

STEELYARD_LEVELED(PoolTable, pool)

// Shared by sums of rows and their kernels.

// A row-major matrix with rows `stride` floats apart.
struct Rows {
  std::size_t count, columns, stride;
};

struct RowSumsTable {
  void (*sum)(Rows, const float* from, bool add, float* to);
  void (*add)(Rows, const float* from, const float* row, float* to);
};

STEELYARD_LEVELED(RowSumsTable, row_sums)

// Kernels of ops that only move and add: matrices of `rows` x `channels` floats, without gaps unless a step
// (floats from row to row) is given.
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
  // Each row, seen as `groups` rows of `length`, is read column by column: to[j groups + g] = from[g length +
  // j], or +=. Exchanging the two numbers gives the inverse.
  void (*shuffle)(std::size_t rows, std::size_t groups, std::size_t length, const float* from, bool add,
                  float* to);
};

STEELYARD_LEVELED(RowsTable, rows)

// Shared by scale and its kernels: a matrix of `rows` x `channels` floats without gaps, and one factor per
// channel.
struct ScaleTable {
  void (*forward)(std::size_t rows, std::size_t channels, const float* a, const float* factors, float* to);
  // d_a = factors d_output, or += with `add`, or nothing if null; it may be d_output.
  // d_factors += the sums of a d_output.
  void (*backward)(std::size_t rows, std::size_t channels, const float* a, const float* factors,
                   const float* d_output, bool add, float* d_a, float* d_factors);
};

STEELYARD_LEVELED(ScaleTable, scale)

// Shared by softmax and its kernels.

// For the scores of one row: the maximum, the sum of exp(score - top), and the sum of score - top.
struct SoftmaxSums {
  float top, exponentials, distances;
};

struct SoftmaxTable {
  SoftmaxSums (*softmax)(const float* scores, std::size_t size, float scale, float shift, float* to);
};

STEELYARD_LEVELED(SoftmaxTable, softmax_kernels)

}  // namespace steelyard::nn
