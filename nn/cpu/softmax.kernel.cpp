// See softmax.h. Three sweeps over a row that stays in the nearest cache.
#include <cstddef>

#include "nn/cpu/direct_exp.h"
#include "nn/cpu/direct_some.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using namespace direct::STEELYARD_LEVEL;  // NOLINT: the vector of this level

SoftmaxSums softmax(const float* scores, std::size_t size, float scale, float shift, float* to) {
  const std::size_t whole = size - size % width;
  // What fills no vector, behind it the first of these scores again: it changes no maximum.
  const auto rest = [&](float filling) {
    Vector values = broadcast(filling);
    for (std::size_t i = whole; i < size; ++i) values[i - whole] = scores[i];
    return values;
  };
  Vector most = broadcast(scores[0]);
  for (std::size_t i = 0; i < whole; i += width) {
    const Vector value = load(scores + i);
    most = most > value ? most : value;
  }
  const Vector last = rest(scores[0]);
  most = most > last ? most : last;
  const float top = greatest_of(most)[0];

  Vector exponentials = {}, distances = {};
  for (std::size_t i = 0; i < whole; i += width) {
    const Vector distance = load(scores + i) - top;
    const Vector value = exponential(distance);
    exponentials += value;
    distances += distance;
    store(to + i, value);
  }
  if (whole < size) {
    Vector distance = last - top;
    Vector value = exponential(distance);
    for (std::size_t i = size - whole; i < width; ++i) distance[i] = value[i] = 0;
    exponentials += value;
    distances += distance;
    for (std::size_t i = whole; i < size; ++i) to[i] = value[i - whole];
  }
  const SoftmaxSums sums{top, sum_of(exponentials)[0], sum_of(distances)[0]};
  const float share = scale / sums.exponentials;
  for (std::size_t i = 0; i < whole; i += width) store(to + i, load(to + i) * share + shift);
  for (std::size_t i = whole; i < size; ++i) to[i] = to[i] * share + shift;
  return sums;
}

}  // namespace

const SoftmaxTable softmax_kernels = {softmax};

}  // namespace steelyard::nn::STEELYARD_LEVEL
