// What computes the steps of a network, for people.
#pragma once

#include <span>
#include <string>

namespace steelyard::nn::cuda {

// Of "conv1: cudnn", "fc1: cublaslt", "conv2: cudnn": "cublaslt: fc1; cudnn: conv1, conv2". The
// implementation of the fewest steps comes first; of many steps only the number and the first are named.
[[nodiscard]] std::string by_implementation(std::span<const std::string> implementations);

}  // namespace steelyard::nn::cuda
