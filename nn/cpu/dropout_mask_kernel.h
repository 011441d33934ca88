// What the mask of dropout and its kernels share. Plain declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstdint>

namespace steelyard::nn {

struct DropoutMask {
  std::uint64_t pixels, channels;  // features are counted [pixel][channel], and written [channel][pixel]
  std::uint32_t lanes;             // 16 or 32
  const std::uint64_t* keys;       // one a lane
  std::uint32_t dropped;           // of 65536
  float scale;
  float* to;
};

// clang-format off
namespace baseline { void draw(const DropoutMask& mask); }
namespace v3 { void draw(const DropoutMask& mask); }
namespace v4 { void draw(const DropoutMask& mask); }
// clang-format on

}  // namespace steelyard::nn
