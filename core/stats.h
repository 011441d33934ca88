// A few numbers about many numbers.
#pragma once

#include <span>
#include <vector>

namespace steelyard {

double mean(std::span<const double> values);             // 0 if there are none
double median(std::vector<double> values);               // by value: it is reordered; 0 if there are none
double relative_spread(std::span<const double> values);  // (max - min) / mean: the straggler effect, SE

}  // namespace steelyard
