#include "nn/optimizer/vector.h"

#include <numeric>

#include "core/check.h"
#include "nn/optimizer/rule_kernels.h"

namespace steelyard::nn {
namespace {

const VectorTable& vector_table(Level level) {
  return at_level(level, baseline::vectors, v3::vectors, v4::vectors);
}

}  // namespace

void add(std::span<float> into, std::span<const float> x, Level level) {
  CHECK(into.size() == x.size(), "a sum of slices of unequal length");
  vector_table(level).add(x.size(), into.data(), x.data());
}

void sum(std::span<float> into, std::span<const float> x, std::span<const float> y, Level level) {
  CHECK(into.size() == x.size() && x.size() == y.size(), "a sum of slices of unequal length");
  vector_table(level).sum(x.size(), into.data(), x.data(), y.data());
}

bool all_finite(std::span<const float> x, Level level) {
  return vector_table(level).all_finite(x.size(), x.data());
}

void SquareSum::add(std::span<const float> x) {
  static_assert(std::tuple_size_v<decltype(chains_)> == square_chains);
  vector_table(level_).squares(x.size(), x.data(), chains_.data(), size_);
  size_ += x.size();
}

double SquareSum::total() const { return std::accumulate(chains_.begin(), chains_.end(), 0.0); }

double sum_of_squares(std::span<const float> x, Level level) {
  SquareSum sum(level);
  sum.add(x);
  return sum.total();
}

}  // namespace steelyard::nn
