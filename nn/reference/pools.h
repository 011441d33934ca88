// The window of a pooling op.
#pragma once

#include <cstdint>

#include "nn/op.h"

namespace steelyard::nn::reference {

// The windows of a pool over pictures in the order of samples, for the pools of the reference.
struct Windows {
  Shape in, out;
  std::uint32_t size, stride, padding;

  // Calls visit(place in the output, place in the input) for every number of the output and, in reading
  // order, every place of its window that is inside the picture.
  template <class Visit>
  void each(std::uint64_t samples, Visit visit) const {
    for (std::uint64_t to = 0; to < samples * out.size(); ++to) {
      const std::uint64_t c = to % out.channels, x = to / out.channels % out.width;
      const std::uint64_t y = to / out.channels / out.width % out.height, s = to / out.size();
      for (std::uint64_t r = 0; r < size; ++r) {
        for (std::uint64_t q = 0; q < size; ++q) {
          // What lies above or left of the picture wraps round to a large number.
          const std::uint64_t row = y * stride + r - padding, column = x * stride + q - padding;
          if (row >= in.height || column >= in.width) continue;
          visit(to, ((s * in.height + row) * in.width + column) * in.channels + c);
        }
      }
    }
  }
};

}  // namespace steelyard::nn::reference
