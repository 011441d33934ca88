// What the sweeps of dropout and their kernels share. Plain declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstdint>

namespace steelyard::nn {

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

// clang-format off
namespace baseline { extern const DropoutTable dropout; }
namespace v3 { extern const DropoutTable dropout; }
namespace v4 { extern const DropoutTable dropout; }
// clang-format on

}  // namespace steelyard::nn
