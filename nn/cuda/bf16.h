// Bf16: a number of 16 bits, the upper half of a float. Activations of a network in bf16 are stored in it;
// kernels compute with floats and round once, when they store a result.
#pragma once

#include <bit>
#include <cstdint>

#include "nn/op.h"

#if defined(__CUDACC__)
#define STEELYARD_BOTH __host__ __device__
#else
#define STEELYARD_BOTH
#endif

namespace steelyard::nn::cuda {

struct Bf16 {
  std::uint16_t bits;

  Bf16() = default;
  // The nearest number; of two, the one with an even last bit. NaN stays NaN.
  STEELYARD_BOTH Bf16(float x) : bits(nearest(x)) {}  // NOLINT: stored like a float
  STEELYARD_BOTH operator float() const {             // NOLINT: read like a float
    return std::bit_cast<float>(std::uint32_t{bits} << 16);
  }

 private:
  STEELYARD_BOTH static std::uint16_t nearest(float x) {
#if defined(__CUDA_ARCH__)
    std::uint16_t near;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(near) : "f"(x));
    return near;
#else
    if (x != x) return 0x7FFF;
    const auto word = std::bit_cast<std::uint32_t>(x);
    return static_cast<std::uint16_t>((word + 0x7FFF + (word >> 16 & 1)) >> 16);
#endif
  }
};
static_assert(sizeof(Bf16) == 2);

// How a network of this precision stores activations on a device.
constexpr Storage storage_of(Precision precision) {
  return precision == Precision::bf16 ? Storage::bf16 : Storage::float32;
}

// Calls `make` with a number of the storage's type.
template <class Make>
auto in_storage(Storage storage, Make make) {
  return storage == Storage::bf16 ? make(Bf16()) : make(float());
}

}  // namespace steelyard::nn::cuda
