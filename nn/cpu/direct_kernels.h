// What the direct kernels and their dispatch share: shapes and tables of functions, one table
// per processor level.
//
// The pattern of every leveled kernel of the house: X.kernel.cpp is compiled once per level and defines, in a
// namespace named after the level, one table of functions; X.cpp checks its arguments and picks a table.
// Plain declarations only: an inline function here would be compiled for AVX-512 too, and the linker might
// keep that copy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace steelyard::nn::direct {

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

namespace baseline {
extern const ConvolutionTable convolution;
extern const PoolTable pool;
extern const TransposeTable transpose;
}  // namespace baseline

namespace v3 {
extern const ConvolutionTable convolution;
extern const PoolTable pool;
extern const TransposeTable transpose;
}  // namespace v3

namespace v4 {
extern const ConvolutionTable convolution;
extern const PoolTable pool;
extern const TransposeTable transpose;
}  // namespace v4

}  // namespace steelyard::nn::direct
