#include "nn/optimizer/vector.h"

#include <cmath>

#include "core/check.h"
#include "nn/optimizer/kernels.h"

namespace steelyard::nn {
namespace {

const VectorTable& table(Level level) {
  switch (level) {
    case Level::v4:
      return v4::vectors;
    case Level::v3:
      return v3::vectors;
    case Level::baseline:
      break;
  }
  return baseline::vectors;
}

}  // namespace

void add(std::span<float> into, std::span<const float> x, Level level) {
  CHECK(into.size() == x.size(), "a sum of slices of unequal length");
  table(level).add(x.size(), into.data(), x.data());
}

void sum(std::span<float> into, std::span<const float> x, std::span<const float> y, Level level) {
  CHECK(into.size() == x.size() && x.size() == y.size(), "a sum of slices of unequal length");
  table(level).sum(x.size(), into.data(), x.data(), y.data());
}

bool all_finite(std::span<const float> x, Level level) { return table(level).all_finite(x.size(), x.data()); }

double sum_of_squares(std::span<const float> x, Level level) {
  return table(level).sum_of_squares(x.size(), x.data());
}

double clipping(std::span<const float> x, double weight, double longest) {
  if (longest <= 0) return 1;
  const double norm = std::sqrt(sum_of_squares(x)) / weight;
  return norm > longest ? longest / norm : 1;
}

}  // namespace steelyard::nn
