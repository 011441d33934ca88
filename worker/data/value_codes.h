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
  // Open addressing. Half of it stays empty.
  static constexpr std::uint32_t places = 2 * most;
  struct Place {
    std::uint32_t bits = 0;
    std::uint16_t code = none;
  };
  static constexpr std::uint16_t none = most;

  // Its place, or that where it belongs.
  static Place& find(std::uint32_t bits, Place* channel);

  std::uint32_t channels_;
  std::vector<Place> places_;                      // of each channel
  std::vector<std::vector<std::uint32_t>> known_;  // bits by code, of each channel
};

}  // namespace steelyard
