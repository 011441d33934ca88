// A keyed permutation of [0, n) that answers any position in O(1) and stores nothing: position -> sample.
//
// Four Feistel rounds on the smallest even number of bits that holds n; results outside [0, n) are sent
// through again ("cycle walking", Black and Rogaway 2002), fewer than four times on average. Every machine
// with the same key sees the same order, so an interval of positions is all that ever needs to be sent.
#pragma once

#include <cstdint>

namespace steelyard {

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

}  // namespace steelyard
