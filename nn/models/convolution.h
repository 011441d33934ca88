// The convolution of networks with batch norm: without a bias, which the norm would take away again, and with
// as much padding as keeps the picture's size where the stride is 1.
#pragma once

#include <steelyard/layers.h>

namespace steelyard::nn {

inline Conv2d unbiased(std::uint32_t channels, std::uint32_t kernel, std::uint32_t stride, Init init,
                       std::uint32_t groups = 1) {
  return {.channels = channels,
          .kernel = kernel,
          .stride = stride,
          .padding = kernel / 2,
          .groups = groups,
          .bias = false,
          .init = init};
}

}  // namespace steelyard::nn
