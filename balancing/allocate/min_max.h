// The exact integer min-max allocator: shares b_i for which the slowest worker finishes as early as possible,
//
//   minimise max_i T_i(b_i)   subject to   sum b_i = total,   least_i <= b_i <= most_i,
//
// for any non-decreasing curves T_i: the problem of LB-BSP (Chen et al., SoCC 2020) and of BOA (Yang et al.,
// J. Supercomputing 2020). Memory limits are bounds; fixed costs and exchange times are part of the curve.
//
// It returns the optimum obtained by handing out samples one by one, each to the worker that would finish it
// first, the earlier worker first among equals. So every worker finishes early, not only the slowest. It
// brackets the finishing time, which takes O(n log) steps instead of one per sample.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "balancing/allocate/bounds.h"
#include "balancing/cost/curves.h"

namespace steelyard::balancing {

// Seconds for a number of samples: not negative, non-decreasing; infinity means impossible.
using Curve = std::function<double(std::uint64_t)>;

// One bound per curve. Throws Failure as check_feasible() does, and NoPlan if it detects a curve that is
// negative, not a number or decreasing.
std::vector<std::uint64_t> min_max(std::span<const Curve> curves, std::span<const Bound> bounds,
                                   std::uint64_t total);

// The same for affine curves, which have an inverse formula: 100,000 workers in milliseconds.
std::vector<std::uint64_t> min_max(std::span<const Affine> curves, std::span<const Bound> bounds,
                                   std::uint64_t total);

}  // namespace steelyard::balancing
