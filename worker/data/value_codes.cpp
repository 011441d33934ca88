#include "worker/data/value_codes.h"

#include <bit>
#include <cstddef>

namespace steelyard {

ValueCodes::ValueCodes(std::uint32_t channels)
    : channels_(channels),
      codes_(std::size_t{places} * channels, none),
      bits_(std::size_t{most} * channels),
      known_(channels) {}

bool ValueCodes::encode(std::span<const float> numbers, std::uint8_t* codes) {
  static_assert(places == 2048, "eleven bits of the product");
  std::uint32_t channel = 0;
  for (const float number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    std::uint16_t* const table = codes_.data() + std::size_t{places} * channel;
    std::uint32_t* const known = bits_.data() + std::size_t{most} * channel;
    std::uint32_t at = (bits * 0x9E3779B1U) >> 21U;
    while (table[at] != none && known[table[at]] != bits) at = (at + 1) % places;
    if (table[at] == none) {
      if (known_[channel] == most) return false;
      known[known_[channel]] = bits;
      table[at] = static_cast<std::uint16_t>(known_[channel]++);
    }
    *codes++ = static_cast<std::uint8_t>(table[at]);
    if (++channel == channels_) channel = 0;
  }
  return true;
}

std::vector<float> ValueCodes::table() const {
  std::vector<float> all;
  all.reserve(bits_.size());
  for (const std::uint32_t bits : bits_) all.push_back(std::bit_cast<float>(bits));
  return all;
}

}  // namespace steelyard
