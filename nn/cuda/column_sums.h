// Sums over the rows of a matrix: the gradient of a bias.
#pragma once

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// out[c] = sum over r of in[r][c], or that is added to it.
void column_sums(Stream& stream, const float* in, std::uint64_t rows, std::uint32_t columns, bool add,
                 float* out);

// The same for many rows: in two stages, with so many floats of workspace.
std::uint64_t column_sums_workspace(std::uint64_t rows, std::uint32_t columns);
void column_sums(Stream& stream, const float* in, std::uint64_t rows, std::uint32_t columns, bool add,
                 float* out, float* workspace);

}  // namespace steelyard::nn::cuda
