// hash(a, b, ...): a 64-bit pseudorandom number for a key such as (epoch 2, sample 812). A pure function with
// the same result on every machine; callable from any thread.
//
// The mixing step is the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014).
#pragma once

#include <cstdint>

namespace steelyard {

constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

constexpr std::uint64_t hash(std::uint64_t a) { return mix(a); }
template <class... Rest>
constexpr std::uint64_t hash(std::uint64_t a, Rest... rest) {
  return mix(a ^ hash(static_cast<std::uint64_t>(rest)...));
}

// 53 random bits as a double in [0, 1).
constexpr double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1.0p-53; }

}  // namespace steelyard
