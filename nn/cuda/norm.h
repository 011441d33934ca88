// The norm of a gradient on a CUDA device, and what it has to be multiplied with so that it is not too long
// (nn/optimizer/vector.h says the same of the CPU). Sums are double, in an order that depends on the size
// only; nothing waits for the host.
#pragma once

#include <cstdint>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

class Norm {
 public:
  // Adds to the stream: value() becomes the norm of gradient / weight, and factor() what gradient / weight
  // has to be multiplied with so that its norm is at most `longest`, 1 or less. longest 0: no limit.
  void measure(Stream& stream, const float* gradient, std::uint64_t size, double weight, double longest);

  // On the device.
  [[nodiscard]] const double* value() const { return value_.data(); }
  [[nodiscard]] const float* factor() const { return factor_.data(); }

 private:
  static constexpr std::uint32_t most_parts = 1024;
  DeviceArray<double> parts_{most_parts}, value_{1};
  DeviceArray<float> factor_{1};
};

// Adds to the stream: numbers *= *factor, which lies on the device.
void multiply(Stream& stream, float* numbers, std::uint64_t size, const float* factor);

}  // namespace steelyard::nn::cuda
