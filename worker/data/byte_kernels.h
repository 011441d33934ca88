// The kernels of ByteFloats, compiled once per processor level (core/processor.h).
#pragma once

#include <cstddef>
#include <cstdint>

namespace steelyard {

inline constexpr std::size_t byte_line = 192;  // bytes, a multiple of 3
inline constexpr std::size_t byte_block = 64;  // pixels

// A value is byte * scale + offset, computed in double precision. On some levels the product is rounded
// first.
struct ByteKernels {
  // `count` lines of byte_line bytes; value i of a line has scale[i] and offset[i].
  void (*lines)(const std::uint8_t* bytes, std::size_t count, const double* scale, const double* offset,
                float* to);
  // Three planes of `pixels` bytes, a multiple of byte_block, become pixels of three values; plane i has
  // scale[i] and offset[i].
  void (*planes)(const std::uint8_t* bytes, std::size_t pixels, const double* scale, const double* offset,
                 float* to);
};

namespace baseline {
extern const ByteKernels byte_kernels;
}
namespace v3 {
extern const ByteKernels byte_kernels;
}
namespace v4 {
extern const ByteKernels byte_kernels;
}

}  // namespace steelyard
