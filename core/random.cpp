#include "core/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "core/check.h"

namespace steelyard {

Permutation::Permutation(std::uint64_t size, std::uint64_t key) : size_(size), key_(key) {
  CHECK(size > 0, "an empty permutation has no positions");
  const unsigned bits = static_cast<unsigned>(std::bit_width(size - 1));
  half_bits_ = bits < 2 ? 1 : (bits + 1) / 2;
  half_mask_ = (std::uint64_t{1} << half_bits_) - 1;
}

std::uint64_t Permutation::operator()(std::uint64_t position) const {
  CHECK(position < size_, "a position lies outside its permutation");
  std::uint64_t value = position;
  do {
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & half_mask_;
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t next = left ^ (hash(key_, round, right) & half_mask_);
      left = right;
      right = next;
    }
    value = (left << half_bits_) | right;
  } while (value >= size_);
  return value;
}

double Random::normal() {
  // Box and Muller, 1958. The second value is dropped, so that each call takes exactly two uniform numbers.
  const double radius = std::sqrt(-2.0 * std::log(1.0 - uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace steelyard
