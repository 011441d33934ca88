// The convolution of networks with batch norm: without a bias, which the norm would cancel, and with the
// padding that keeps the picture's size at stride 1.
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
