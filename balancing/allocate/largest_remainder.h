// Integer shares in proportion to weights that sum to the round: the method of the largest remainder,
// largest_remainder() of include/steelyard/policy.h.
//
// Source: the rounding that the survey of LB-BSP, DLB and LBB describes for DLB (Ye et al., TETCI 2023):
// round all shares down, then give one more to those with the largest fractions until the sum is right. For
// equal fractions, the earlier worker comes first. Fractions closer than 2^-32 count as equal, so that
// rounding noise decides nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balancing/allocate/bounds.h"

namespace steelyard::balancing {

// Real shares x_i = clamp(lambda * w_i, least_i, most_i), with the one lambda for which they sum to `total`.
// Weights must be finite and not negative; if those of all workers below their maximum are zero, they count
// as equal. `bounds` has one entry per weight, or is empty. Throws Failure as check_feasible() does.
std::vector<double> proportional(std::span<const double> weights, std::uint64_t total,
                                 std::span<const Bound> bounds = {});

}  // namespace steelyard::balancing
