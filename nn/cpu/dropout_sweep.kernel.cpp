// See dropout_sweep.h. Plain loops of constant length, which the compiler turns into vectors.
#include <cstdint>

#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using Bits = std::uint16_t;

constexpr int together = 16;  // lanes, or groups of four features

// mix() of core/random.h, again: kernels include no inline functions of other headers.
[[gnu::always_inline]] inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// to[i] = from[i], masked, or +=, for `size` features.
template <bool add>
[[gnu::always_inline]] inline void masked(const DropoutSweep& sweep, const Bits* bits, int size,
                                          const float* from, float* to) {
  const auto dropped = static_cast<int>(sweep.dropped);
  const float scale = sweep.scale;
#pragma GCC ivdep  // equal pointers do no harm
  for (int i = 0; i < size; ++i) {
    const float kept = from[i] * scale, value = int{bits[i]} < dropped ? 0.0F : kept;
    to[i] = add ? to[i] + value : value;
  }
}

template <bool add>
void lanes_of(const DropoutSweep& sweep, const float* from, float* to) {
  const std::uint64_t features = sweep.pixels * sweep.channels;
  for (std::uint64_t first = 0; first < features; first += 4) {
    const std::uint64_t group = mixed(first);
    for (std::uint32_t lane = 0; lane < sweep.places; lane += together) {
      std::uint64_t bits[together];
      for (int s = 0; s < together; ++s) bits[s] = mixed(sweep.keys[lane + s] ^ group);
      for (std::uint64_t feature = first; feature < first + 4 && feature < features; ++feature) {
        const std::uint64_t row = feature % sweep.channels * sweep.pixels + feature / sweep.channels;
        const std::uint64_t at = row * sweep.places + lane;
        Bits low[together];
        for (int s = 0; s < together; ++s) {
          low[s] = static_cast<Bits>(bits[s]);
          bits[s] >>= 16;
        }
        masked<add>(sweep, low, together, from + at, to + at);
      }
    }
  }
}

// The bits of neighbouring groups are those of neighbouring features. What the groups give is found once for
// all samples, some thousand features at a time.
template <bool add>
void samples_of(const DropoutSweep& sweep, const float* from, float* to) {
  constexpr std::uint64_t some = 4096;
  const std::uint64_t features = sweep.pixels * sweep.channels;
  std::uint64_t groups[some / 4];
  for (std::uint64_t begin = 0; begin < features; begin += some) {
    const std::uint64_t end = begin + some < features ? begin + some : features;
    for (std::uint64_t g = 0; g < some / 4 && begin + 4 * g < end; ++g) groups[g] = mixed(begin + 4 * g);
    for (std::uint32_t s = 0; s < sweep.places; ++s) {
      for (std::uint64_t first = begin; first < end; first += 4 * together) {
        std::uint64_t bits[together];
        const std::uint64_t* group = groups + (first - begin) / 4;
        for (int g = 0; g < together; ++g) bits[g] = mixed(sweep.keys[s] ^ group[g]);
        const std::uint64_t at = s * features + first;
        Bits drawn[4 * together];
        __builtin_memcpy(drawn, bits, sizeof(bits));
        if (first + 4 * together <= end) {
          masked<add>(sweep, drawn, 4 * together, from + at, to + at);
        } else {
          masked<add>(sweep, drawn, static_cast<int>(end - first), from + at, to + at);
        }
      }
    }
  }
}

void lanes(const DropoutSweep& sweep, const float* from, bool add, float* to) {
  if (add) return lanes_of<true>(sweep, from, to);
  lanes_of<false>(sweep, from, to);
}

void samples(const DropoutSweep& sweep, const float* from, bool add, float* to) {
  if (add) return samples_of<true>(sweep, from, to);
  samples_of<false>(sweep, from, to);
}

}  // namespace

const DropoutTable dropout = {lanes, samples};

}  // namespace steelyard::nn::STEELYARD_LEVEL
