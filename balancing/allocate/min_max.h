// The exact integer min-max allocator: shares b_i that make the slowest worker finish as early as possible,
//
//   minimise max_i T_i(b_i)   subject to   sum b_i = total,   least_i <= b_i <= most_i,
//
// for any curves T_i that do not decrease: the problem of LB-BSP (Chen et al., SoCC 2020) and of BOA (Yang et
// al., J. Supercomputing 2020). A memory limit, a fixed cost or an exchange time are all part of the bounds
// or the curve.
//
// Among the optima it returns the one that handing out samples one by one gives, always to the worker that
// would finish soonest with it, the earlier worker first among equals; so every worker, not only the slowest,
// finishes early. It gets there by bracketing the finishing time, in O(n log) steps instead of one per
// sample.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "balancing/allocate/bounds.h"
#include "balancing/cost/curves.h"

namespace steelyard::balancing {

// Seconds for a number of samples: not negative, never decreasing; infinity for "cannot" is allowed.
using Curve = std::function<double(std::uint64_t)>;

// One bound per curve. Throws Failure as check_feasible() does, and NoPlan for a curve that is negative, not
// a number, or decreases where that shows.
std::vector<std::uint64_t> min_max(std::span<const Curve> curves, std::span<const Bound> bounds,
                                   std::uint64_t total);

// The same for affine curves, whose inverse is a formula: 100,000 workers in milliseconds.
std::vector<std::uint64_t> min_max(std::span<const Affine> curves, std::span<const Bound> bounds,
                                   std::uint64_t total);

}  // namespace steelyard::balancing
