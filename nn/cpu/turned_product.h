// The gradient of weights: the product of a turned matrix with another, summed over the rows of both.
//
// With AVX2 oneDNN's sgemm packs a matrix slowly if its rows are 1, 2 or 4 KiB apart: all the rows of one
// column are then in a few sets of the first-level cache. Such matrices are copied before, some rows at a
// time, to rows that are one cache line further apart. docs/decisions/71-rows-of-a-power-of-two.md has
// figures.
#pragma once

#include <cstdint>

#include "core/processor.h"
#include "nn/cpu/onednn.h"

namespace steelyard::nn::cpu {

class TurnedProduct {
 public:
  // Of matrices with this many columns, without gaps.
  TurnedProduct(std::uint64_t left, std::uint64_t right, Level level = cpu_level());

  // Floats of scratch that multiply() needs.
  [[nodiscard]] std::uint64_t scratch() const;

  // c = a^T b, or c += a^T b with `add`, left x right, over `rows` rows. `copies` has scratch() floats.
  void multiply(onednn::Products& products, std::uint64_t rows, const float* a, const float* b, bool add,
                float* c, float* copies) const;

 private:
  std::uint64_t left_, right_;
  std::uint64_t left_row_, right_row_;  // floats from row to row of a copy; 0: not copied
};

}  // namespace steelyard::nn::cpu
