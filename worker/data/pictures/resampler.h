// Resampler: crops the middle of a picture to the proportions of a sample, and scales it to its size, row by
// row, so that only one row of the picture must be in memory.
//
// Where the picture is larger, a value is the mean of the area that it covers; where it is smaller, it is
// interpolated linearly. Computed with integers: the result is the same on every machine.
#pragma once

#include <cstdint>
#include <vector>

#include "worker/data/pictures/picture_format.h"

namespace steelyard {

class Resampler {
 public:
  Resampler(std::uint32_t height, std::uint32_t width, const PictureFormat& to);

  // Only these rows are needed. Call add() for each of them, in order, with all pixels of the row, channels
  // last.
  [[nodiscard]] std::uint32_t first_row() const { return down_.begins.front(); }
  [[nodiscard]] std::uint32_t end_row() const { return down_.ends.back(); }
  void add(std::uint32_t row, const std::uint8_t* pixels);
  // Writes rows x columns x channels bytes, after the last row.
  void finish(std::uint8_t* into) const;

 private:
  // For each target value: the source values [begin, end) that it is made of, and their weights.
  struct Spread {
    std::vector<std::uint32_t> begins{}, ends{};
    std::vector<std::size_t> weights_at{};  // the first weight of each target
    std::vector<std::uint16_t> weights{};
  };
  static Spread spread(std::uint32_t offset, std::uint32_t length, std::uint32_t targets);
  // Adds weights of zero, so that all targets have the same number of them; sources end at `end`.
  static void even_out(Spread& all, std::uint32_t end);
  template <std::uint32_t channels>
  void squeeze(const std::uint8_t* pixels);
  template <std::uint32_t channels, class Taps>
  void squeeze(const std::uint8_t* pixels, Taps taps);

  const PictureFormat to_;
  Spread down_;
  Spread across_;                    // all targets have the same number of weights
  std::uint32_t open_ = 0;           // the first target row that needs the next source row
  std::vector<std::uint32_t> line_;  // the last row, scaled in width
  std::vector<std::uint32_t> sums_;  // of each target value
};

}  // namespace steelyard
