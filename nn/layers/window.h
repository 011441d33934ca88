// The windows of a pool over pictures in the order of samples: [sample][row][column][channel].
#pragma once

#include <algorithm>
#include <cstdint>

#include "nn/shape.h"

namespace steelyard::nn {

struct Windows {
  Shape input;
  std::uint32_t size;

  [[nodiscard]] Shape output() const { return {input.height / size, input.width / size, input.channels}; }

  // Calls visit(place of the output pixel, place of the window's first pixel); a pixel is
  // its run of channels.
  template <class Visit>
  void each(std::uint64_t samples, Visit visit) const {
    const Shape out = output();
    std::uint64_t to = 0;
    for (std::uint64_t s = 0; s < samples; ++s) {
      for (std::uint64_t y = 0; y < out.height; ++y) {
        for (std::uint64_t x = 0; x < out.width; ++x, to += out.channels) {
          visit(to, ((s * input.height + y * size) * input.width + x * size) * input.channels);
        }
      }
    }
  }

  // The distance from the window's first pixel to its pixel number `i`, in reading order.
  [[nodiscard]] std::uint64_t step(std::uint32_t i) const {
    return (std::uint64_t{i / size} * input.width + i % size) * input.channels;
  }
};

}  // namespace steelyard::nn
