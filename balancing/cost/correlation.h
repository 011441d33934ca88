// Correlation of two lists of the same length, at least two numbers each: -1 to 1; 0 if one list is constant.
// LBB (Yao et al., J. Supercomputing 2024, Fig. 3) rates its profiles by both.
#pragma once

#include <span>

namespace steelyard::balancing {

// Pearson: sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 sum (y - mean y)^2).
double pearson(std::span<const double> x, std::span<const double> y);
// Spearman: Pearson of the ranks; equal numbers have the mean of their ranks.
double spearman(std::span<const double> x, std::span<const double> y);

}  // namespace steelyard::balancing
