// Comparison of results of the device with those of the processor.
#pragma once

#include <array>
#include <span>

#include "core/device_name.h"

namespace steelyard::bench {

inline constexpr std::array every_precision{Precision::float32, Precision::tf32, Precision::bf16};

// The largest allowed distance, relative to the norm of a result: sums are in float32 in another order (and
// may use Winograd's method); factors have 11 significant bits in tf32, and all stored numbers 8 in bf16.
double tolerance(Precision precision);

// |actual - expected| as a share of |expected|; NaN if a number is NaN.
double relative_distance(std::span<const float> actual, std::span<const float> expected);

// With a planted wrong number (must_spoil()), makes the first number wrong by more than the norm.
void spoil_if_planted(std::span<float> result);

}  // namespace steelyard::bench
