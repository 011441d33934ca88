// Tokens in the order of the rows of a table that they name.
#pragma once

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {

// A number that is no row counts as row 0.
__device__ inline std::uint32_t row_of(float number, std::uint32_t rows) {
  return number >= 0 && number < static_cast<float>(rows) ? static_cast<std::uint32_t>(number) : 0;
}

// Arrays of the device, a number for each token: rows ascend, and tokens of one row keep their order.
struct Sorted {
  std::uint32_t *rows, *tokens;
};

void sort_tokens(Stream& stream, const float* numbers, std::uint32_t tokens, std::uint32_t rows,
                 Sorted sorted);

}  // namespace steelyard::nn::cuda
