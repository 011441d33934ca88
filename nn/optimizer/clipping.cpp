#include "nn/optimizer/clipping.h"

#include <cmath>

#include "nn/optimizer/vector.h"

namespace steelyard::nn {

std::vector<Interval> stepped_ranges(const Layout& layout) {
  std::vector<Interval> ranges;
  for (const Range& range : layout.ranges) {
    if (range.rule == Rule::step) ranges.push_back({range.begin, range.end});
  }
  return ranges;
}

double sum_of_squares_in(std::span<const Interval> ranges, std::span<const float> gradient) {
  double sum = 0;
  for_each_norm_part(
      ranges, [&](Interval part) { sum += sum_of_squares(gradient.subspan(part.begin, part.size())); });
  return sum;
}

double clipping(double squares, double weight, double longest) {
  if (longest <= 0) return 1;
  const double norm = std::sqrt(squares) / weight;
  return norm > longest ? longest / norm : 1;
}

}  // namespace steelyard::nn
