// Layer norm, row by row: a row is read several times, but only once from memory. Plain loops, which the
// compiler vectorises.
#include <cstddef>

#include "nn/cpu/direct_vector.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using std::size_t;

using direct::STEELYARD_LEVEL::load;
using direct::STEELYARD_LEVEL::Vector;
constexpr size_t width = direct::STEELYARD_LEVEL::width;

[[gnu::always_inline]] inline float sum_of(Vector v) {
  typedef float Quarter __attribute__((vector_size(16)));
  Quarter parts[width / 4], sum = {};
  __builtin_memcpy(parts, &v, sizeof v);
  for (const Quarter& part : parts) sum += part;
  return (sum[0] + sum[2]) + (sum[1] + sum[3]);
}

// One or `width` neighbours of a buffer, so that one formula serves vectors and the rest of a row.
struct One {
  [[gnu::always_inline]] float operator()(const float* from, size_t at) const { return from[at]; }
};
struct Many {
  [[gnu::always_inline]] Vector operator()(const float* from, size_t at) const { return load(from + at); }
};

// The sum of term(get, 0) to term(get, size - 1), where get(buffer, index) reads one or many. Two sums, so
// that vectors do not wait for each other.
template <class Term>
[[gnu::always_inline]] inline float summed(size_t size, Term term) {
  Vector even = {}, odd = {};
  size_t c = 0;
  for (; c + 2 * width <= size; c += 2 * width) {
    even += term(Many{}, c);
    odd += term(Many{}, c + width);
  }
  if (c + width <= size) {
    even += term(Many{}, c);
    c += width;
  }
  float sum = sum_of(even + odd);
  for (; c < size; ++c) sum += term(One{}, c);
  return sum;
}

void forward(size_t rows, size_t channels, const float* x, const float* __restrict weight,
             const float* __restrict bias, float epsilon, float* __restrict statistics,
             float* __restrict to) {
  const float share = 1.0F / static_cast<float>(channels);
  for (size_t row = 0; row < rows; ++row, x += channels, to += channels) {
    const float mean = share * summed(channels, [=](auto get, size_t c) { return get(x, c); });
    const float variance = share * summed(channels, [=](auto get, size_t c) {
                             const auto away = get(x, c) - mean;
                             return away * away;
                           });
    const float reciprocal = 1.0F / __builtin_sqrtf(variance + epsilon);
    for (size_t c = 0; c < channels; ++c) to[c] = (x[c] - mean) * reciprocal * weight[c] + bias[c];
    statistics[2 * row] = mean;
    statistics[2 * row + 1] = reciprocal;
  }
}

enum class Target { none, write, add };

// With g = d_output * weight and n = (x - mean) / deviation, the normalised values:
//   d_x = (g - mean(g) - n mean(g n)) / deviation
template <Target target>
void backward_of(size_t rows, size_t channels, const float* x, const float* weight, const float* statistics,
                 const float* d_output, float* __restrict d_weight, float* __restrict d_bias, float* d_x) {
  const float share = 1.0F / static_cast<float>(channels);
  for (size_t row = 0; row < rows; ++row, x += channels, d_output += channels) {
    const float mean = statistics[2 * row], reciprocal = statistics[2 * row + 1];
    float mean_g = 0, mean_gn = 0;
    if constexpr (target != Target::none) {
      mean_g =
          share * summed(channels, [=](auto get, size_t c) { return get(d_output, c) * get(weight, c); });
      mean_gn = share * reciprocal * summed(channels, [=](auto get, size_t c) {
                  return get(d_output, c) * get(weight, c) * (get(x, c) - mean);
                });
    }
#pragma GCC ivdep  // d_x may be d_output
    for (size_t c = 0; c < channels; ++c) {
      const float d = d_output[c], n = (x[c] - mean) * reciprocal;
      d_weight[c] += d * n;
      d_bias[c] += d;
      const float gradient = (d * weight[c] - mean_g - n * mean_gn) * reciprocal;
      if constexpr (target == Target::write) d_x[c] = gradient;
      if constexpr (target == Target::add) d_x[c] += gradient;
    }
    if constexpr (target != Target::none) d_x += channels;
  }
}

void backward(size_t rows, size_t channels, const float* x, const float* weight, const float* statistics,
              const float* d_output, float* d_weight, float* d_bias, bool add, float* d_x) {
  const auto kernel = d_x == nullptr ? backward_of<Target::none>
                                     : (add ? backward_of<Target::add> : backward_of<Target::write>);
  kernel(rows, channels, x, weight, statistics, d_output, d_weight, d_bias, d_x);
}

}  // namespace

const LayerNormTable layer_norm = {forward, backward};

}  // namespace steelyard::nn::STEELYARD_LEVEL
