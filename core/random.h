// Seeded random numbers, the same on every machine. Permutation shuffles samples; Random is a sequence, for
// code that runs in a fixed order. For numbers that must not depend on an order, see
// include/steelyard/hash.h.
#pragma once

#include <steelyard/hash.h>

#include <cstdint>

namespace steelyard {

// A keyed permutation of [0, n), position -> sample, that computes any position in O(1) and stores nothing.
//
// Four Feistel rounds on the smallest even number of bits that holds n. Results outside [0, n) are permuted
// again ("cycle walking", Black and Rogaway 2002), fewer than four times on average. Every machine with the
// same key sees the same order, so messages need to send only an interval of positions.
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

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : state_(mix(seed)) {}

  constexpr std::uint64_t next() { return mix(state_++); }
  constexpr double uniform() { return unit(next()); }
  // An integer in [0, bound); bound > 0. The bias, below bound / 2^64, is negligible here.
  constexpr std::uint64_t below(std::uint64_t bound) {
    return static_cast<std::uint64_t>((static_cast<unsigned __int128>(next()) * bound) >> 64);
  }
  double normal();  // mean 0, deviation 1

 private:
  std::uint64_t state_;
};

}  // namespace steelyard
