// The shape of one sample between two layers: height x width x channels floats, row-major (channels last). A
// vector of n features is 1 x 1 x n.
#pragma once

#include <cstdint>

namespace steelyard::nn {

struct Shape {
  std::uint32_t height = 1, width = 1, channels = 1;

  [[nodiscard]] constexpr std::uint64_t size() const { return std::uint64_t{height} * width * channels; }
  friend constexpr bool operator==(const Shape&, const Shape&) = default;
};

}  // namespace steelyard::nn
