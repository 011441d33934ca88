// ValueCodes: numbers as bytes without loss, for samples of few different numbers, such as pictures: each
// channel has a table of at most 256 numbers, and a number's code is its place there. Numbers are compared by
// their bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace steelyard {

class ValueCodes {
 public:
  static constexpr std::uint32_t most = 256;  // different numbers of a channel

  explicit ValueCodes(std::uint32_t channels);

  // Writes the code of each number; channels last, whole pixels. False if a channel has too many different
  // numbers, counting those of all earlier calls; the codes are then useless.
  [[nodiscard]] bool encode(std::span<const float> numbers, std::uint8_t* codes);

  // `most` numbers for each channel, channel by channel; unused ones are 0.
  [[nodiscard]] std::vector<float> table() const;

 private:
  // A hash table for each channel, of codes, with open addressing. Nearly all of it stays empty, so that most
  // numbers are found at their first place.
  static constexpr std::uint32_t places = 8 * most;
  static constexpr std::uint16_t none = most;

  std::uint32_t channels_;
  std::vector<std::uint16_t> codes_;  // `places` of each channel
  std::vector<std::uint32_t> bits_;   // `most` of each channel, by code
  std::vector<std::uint32_t> known_;  // numbers of each channel
};

}  // namespace steelyard
