// Shares in proportion to weights, as integers that sum to the round: the method of the largest remainder,
// which is largest_remainder() of include/steelyard/policy.h.
//
// Source: the rounding that the survey of LB-BSP, DLB and LBB describes for DLB (Ye et al., TETCI 2023):
// round all down, then give one more to those with the largest fractions, exactly as many as are missing.
// Equal fractions: the earlier worker first. Fractions closer than 2^-32 are equal, so that noise of the
// arithmetic decides nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balancing/allocate/bounds.h"

namespace steelyard::balancing {

// Real shares x_i = clamp(lambda * w_i, least_i, most_i) with the one lambda that makes them sum to `total`.
// Weights are finite and not negative; where those that may still take are all zero, they count as equal.
// `bounds` has one entry per weight, or none at all. Throws Failure as check_feasible() does.
std::vector<double> proportional(std::span<const double> weights, std::uint64_t total,
                                 std::span<const Bound> bounds = {});

}  // namespace steelyard::balancing
