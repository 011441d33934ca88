// How far two gradients, or sets of parameters, are from each other.
#pragma once

#include <cmath>
#include <cstddef>
#include <vector>

namespace steelyard::test {

// |a - b| as a share of |b|; both have the same size.
inline double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(double{a[i]} - double{b[i]}, 2);
    length += std::pow(double{b[i]}, 2);
  }
  return std::sqrt(difference / length);
}

}  // namespace steelyard::test
