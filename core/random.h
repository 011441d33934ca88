// Seeded random numbers. Two kinds, both pure functions of their seed and the same on every machine:
//
//  hash(a, b, ...)  a number for a place: "the dropout mask of sample 812, layer 3, epoch 2". Any order,
//                   any thread.
//  Random           a sequence, where an order exists anyway.
//
// The mixing step is the finaliser of SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
// generators", OOPSLA 2014).
#pragma once

#include <cstdint>

namespace steelyard {

// A keyed permutation of [0, n) that answers any position in O(1) and stores nothing: position -> sample.
//
// Four Feistel rounds on the smallest even number of bits that holds n; results outside [0, n) are sent
// through again ("cycle walking", Black and Rogaway 2002), fewer than four times on average. Every machine
// with the same key sees the same order, so an interval of positions is all that ever needs to be sent.
class Permutation {
 public:
  Permutation(std::uint64_t size, std::uint64_t key);  // size > 0

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::uint64_t operator()(std::uint64_t position) const;  // position < size()

 private:
  std::uint64_t size_;
  std::uint64_t key_;
  unsigned half_bits_;
  std::uint64_t half_mask_;
};

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

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(mix(seed)) {}

  constexpr std::uint64_t next() { return mix(state_++); }
  constexpr double uniform() { return unit(next()); }
  // An integer in [0, bound); bound > 0. The bias, below bound / 2^64, is of no consequence here.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  double normal();  // mean 0, deviation 1

 private:
  std::uint64_t state_;
};

}  // namespace steelyard
