// Bytes to floats: byte * scale + offset in double precision, rounded once to a float.
//
// Plain loops, which the compiler vectorises. Bytes are widened to integers first, because gcc 12 vectorises
// loops from bytes to doubles badly.
#include <cstddef>
#include <cstdint>

#include "worker/data/byte_kernels.h"

namespace steelyard::STEELYARD_LEVEL {
namespace {

using std::size_t;

constexpr size_t block = byte_block;

[[gnu::always_inline]] inline void widen(const std::uint8_t* from, size_t count, int* __restrict to) {
  for (size_t i = 0; i < count; ++i) to[i] = from[i];
}

void lines(const std::uint8_t* bytes, size_t count, const double* __restrict scale,
           const double* __restrict offset, float* __restrict to) {
  for (size_t line = 0; line < count; ++line, bytes += byte_line, to += byte_line) {
    int whole[byte_line];
    widen(bytes, byte_line, whole);
    for (size_t i = 0; i < byte_line; ++i) to[i] = static_cast<float>(whole[i] * scale[i] + offset[i]);
  }
}

void planes(const std::uint8_t* bytes, size_t pixels, const double* scale, const double* offset, float* to) {
  float values[3][block];
  for (size_t begin = 0; begin < pixels; begin += block, to += 3 * block) {
    for (size_t plane = 0; plane < 3; ++plane) {
      int whole[block];
      widen(bytes + plane * pixels + begin, block, whole);
      const double factor = scale[plane], term = offset[plane];
      for (size_t i = 0; i < block; ++i) values[plane][i] = static_cast<float>(whole[i] * factor + term);
    }
    for (size_t i = 0; i < block; ++i) {
      to[3 * i] = values[0][i];
      to[3 * i + 1] = values[1][i];
      to[3 * i + 2] = values[2][i];
    }
  }
}

}  // namespace

extern const ByteKernels byte_kernels{lines, planes};

}  // namespace steelyard::STEELYARD_LEVEL
