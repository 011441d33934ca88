// See dropout_mask.h. Plain loops over 16 lanes at a time, which the compiler turns into vectors.
#include <cstdint>

#include "nn/cpu/dropout_mask_kernel.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

constexpr int lanes_at_once = 16;

// mix() of core/random.h, again: kernels include no inline functions of other headers.
[[gnu::always_inline]] inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

}  // namespace

void draw(const DropoutMask& mask) {
  const std::uint64_t features = mask.pixels * mask.channels;
  for (std::uint64_t first = 0; first < features; first += 4) {
    const std::uint64_t group = mixed(first);
    for (std::uint32_t lane = 0; lane < mask.lanes; lane += lanes_at_once) {
      std::uint64_t bits[lanes_at_once];
      for (int s = 0; s < lanes_at_once; ++s) bits[s] = mixed(mask.keys[lane + s] ^ group);
      for (std::uint64_t feature = first; feature < first + 4 && feature < features; ++feature) {
        const std::uint64_t row = feature % mask.channels * mask.pixels + feature / mask.channels;
        float* to = mask.to + row * mask.lanes + lane;
        for (int s = 0; s < lanes_at_once; ++s) {
          to[s] = static_cast<std::uint32_t>(bits[s] & 0xFFFF) < mask.dropped ? 0.0F : mask.scale;
          bits[s] >>= 16;
        }
      }
    }
  }
}

}  // namespace steelyard::nn::STEELYARD_LEVEL
