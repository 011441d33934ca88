// Clipping of gradients by workers: of the steps that they make themselves, or of pieces.
//
// The norm is of the ranges that are stepped; the others hold no gradient. Squares are summed in an order
// that lets a device sum many parts at once (nn/cuda/local_step.h), with the same bits: each range is divided
// into parts of norm_part floats, the last of which may be shorter; each part is a SquareSum of its own
// (nn/optimizer/vector.h); and their totals are added in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/interval.h"
#include "core/layout.h"

namespace steelyard::nn {

inline constexpr std::uint64_t norm_part = 4096;

// The ranges of a layout that hold a gradient, in order.
std::vector<Interval> stepped_ranges(const Layout& layout);

// Calls `part` with each part of the ranges, in order.
template <class Part>
void for_each_norm_part(std::span<const Interval> ranges, Part part) {
  for (const Interval& range : ranges) {
    for (std::uint64_t at = range.begin; at < range.end; at += norm_part)
      part(Interval{at, range.end - at < norm_part ? range.end : at + norm_part});
  }
}

// The sum of the squares of a gradient in these ranges.
double sum_of_squares_in(std::span<const Interval> ranges, std::span<const float> gradient);

// The factor, at most 1, that limits the norm of gradient / weight to `longest`; `squares`: of the gradient.
// longest = 0: no limit.
double clipping(double squares, double weight, double longest);

}  // namespace steelyard::nn
