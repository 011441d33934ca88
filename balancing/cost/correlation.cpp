#include "balancing/cost/correlation.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/check.h"
#include "core/text.h"

namespace steelyard::balancing {
namespace {

std::vector<double> ranks(std::span<const double> values) {
  std::vector<double> all;
  for (const double value : values) {
    const auto less = std::ranges::count_if(values, [&](double it) { return it < value; });
    const auto same = std::ranges::count(values, value);
    all.push_back(static_cast<double>(less) + static_cast<double>(same - 1) / 2);
  }
  return all;
}

}  // namespace

double pearson(std::span<const double> x, std::span<const double> y) {
  CHECK(x.size() == y.size(), "correlated lists have the same length");
  const double mean_x = mean(x), mean_y = mean(y);
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - mean_x, dy = y[i] - mean_y;
    xy += dx * dy, xx += dx * dx, yy += dy * dy;
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

double spearman(std::span<const double> x, std::span<const double> y) { return pearson(ranks(x), ranks(y)); }

}  // namespace steelyard::balancing
