#include "worker/data/value_codes.h"

#include <bit>
#include <cstddef>

namespace steelyard {

ValueCodes::ValueCodes(std::uint32_t channels)
    : channels_(channels), places_(std::size_t{places} * channels), known_(channels) {}

ValueCodes::Place& ValueCodes::find(std::uint32_t bits, Place* channel) {
  static_assert(places == 512, "nine bits of the product");
  std::uint32_t at = (bits * 0x9E3779B1U) >> 23U;
  while (channel[at].code != none && channel[at].bits != bits) at = (at + 1) % places;
  return channel[at];
}

bool ValueCodes::encode(std::span<const float> numbers, std::uint8_t* codes) {
  std::uint32_t channel = 0;
  for (const float number : numbers) {
    const auto bits = std::bit_cast<std::uint32_t>(number);
    Place& place = find(bits, places_.data() + std::size_t{places} * channel);
    if (place.code == none) {
      std::vector<std::uint32_t>& known = known_[channel];
      if (known.size() == most) return false;
      place = {bits, static_cast<std::uint16_t>(known.size())};
      known.push_back(bits);
    }
    *codes++ = static_cast<std::uint8_t>(place.code);
    if (++channel == channels_) channel = 0;
  }
  return true;
}

std::vector<float> ValueCodes::table() const {
  std::vector<float> all(std::size_t{most} * channels_);
  for (std::size_t channel = 0; channel < channels_; ++channel) {
    for (std::size_t code = 0; code < known_[channel].size(); ++code)
      all[most * channel + code] = std::bit_cast<float>(known_[channel][code]);
  }
  return all;
}

}  // namespace steelyard
