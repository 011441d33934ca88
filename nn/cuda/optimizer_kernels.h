// The kernels of the optimizer: the update rules and what goes with them, on slices in the memory of a
// device. Results equal those of a processor of level v3 or v4 bit for bit (nn/optimizer/rule_elements.h).
// Each call adds its work to the stream. All pointers are device pointers, of any alignment.
#pragma once

#include <cstdint>

#include "nn/cuda/runtime.h"
#include "nn/optimizer/rule_kernels.h"

namespace steelyard::nn::cuda {

void run(Stream& stream, const RuleCall& call);

// Sets *bad to 1 if an element is infinite or NaN, and leaves it as it is otherwise.
void find_not_finite(Stream& stream, std::uint64_t size, const float* x, std::uint32_t* bad);

// Adds the square of element i to chains[(at + i) % square_chains], in order of i, as SquareSum does: one
// warp, a chain a lane.
void add_squares(Stream& stream, std::uint64_t size, const float* x, double* chains, std::uint64_t at);

}  // namespace steelyard::nn::cuda
