// Bound by memory: four numbers to a thread, 8 and 16 bytes at once.
#include "nn/cuda/cast.h"

#include <cstring>

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned threads = 256;

struct Shorten {
  __device__ Bf16 operator()(float x) const {
    std::uint32_t bits = 0;
    memcpy(&bits, &x, sizeof bits);
    if (x != x) return static_cast<Bf16>(bits >> 16 | 0x40);  // its lower half may be all that makes it NaN
    return static_cast<Bf16>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
  }
};
struct Lengthen {
  __device__ float operator()(Bf16 x) const {
    const std::uint32_t bits = std::uint32_t{x} << 16;
    float value = 0;
    memcpy(&value, &bits, sizeof value);
    return value;
  }
};

template <class T>
struct alignas(4 * sizeof(T)) Four {
  T of[4];
};

template <class Cast, class From, class To>
__global__ void cast_fours(Cast cast, std::uint64_t fours, const From* from, To* to) {
  const std::uint64_t i = thread_number();
  if (i >= fours) return;
  const Four<From> values = reinterpret_cast<const Four<From>*>(from)[i];
  Four<To> results;
  for (unsigned k = 0; k < 4; ++k) results.of[k] = cast(values.of[k]);
  reinterpret_cast<Four<To>*>(to)[i] = results;
}
template <class Cast, class From, class To>
__global__ void cast_ones(Cast cast, std::uint64_t begin, std::uint64_t end, const From* from, To* to) {
  const std::uint64_t i = begin + thread_number();
  if (i < end) to[i] = cast(from[i]);
}

template <class Cast, class From, class To>
void cast_all(Stream& stream, Cast cast, std::uint64_t size, const From* from, To* to) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(from) % sizeof(Four<From>) == 0 &&
                       reinterpret_cast<std::uintptr_t>(to) % sizeof(Four<To>) == 0;
  const std::uint64_t fours = aligned ? size / 4 : 0;
  if (fours > 0) {
    launch(stream, groups_of(fours, threads), threads, &cast_fours<Cast, From, To>, cast, fours, from, to);
  }
  if (4 * fours < size) {
    const unsigned blocks = groups_of(size - 4 * fours, threads);
    launch(stream, blocks, threads, &cast_ones<Cast, From, To>, cast, 4 * fours, size, from, to);
  }
}

}  // namespace

void to_bf16(Stream& stream, const float* from, std::uint64_t size, Bf16* to) {
  cast_all(stream, Shorten(), size, from, to);
}
void to_float(Stream& stream, const Bf16* from, std::uint64_t size, float* to) {
  cast_all(stream, Lengthen(), size, from, to);
}

}  // namespace steelyard::nn::cuda
