// What pools over pictures in the order of samples and their kernels share. Plain declarations only, as in
// nn/cpu/direct_kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace steelyard::nn {

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

// clang-format off
namespace baseline { extern const PoolTable pool; }
namespace v3 { extern const PoolTable pool; }
namespace v4 { extern const PoolTable pool; }
// clang-format on

}  // namespace steelyard::nn
