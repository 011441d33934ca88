#include "nn/cpu/columns.h"

#include <algorithm>
#include <numeric>
#include <type_traits>

#include "nn/cpu/kernel_calls.h"

namespace steelyard::nn {
namespace {

// Combines short rows to whole vectors, long enough to amortise the loop.
std::size_t rows_together(std::size_t channels) {
  constexpr std::size_t vector = 16, short_row = 64, long_row = 256;
  if (channels > long_row) return 1;
  const std::size_t whole = vector / std::gcd(channels, vector);
  return whole * ((short_row + whole * channels - 1) / (whole * channels));
}

template <class T>
const ColumnsTable<T>& columns_kernels() {
  if constexpr (std::is_same_v<T, float>) {
    return at_level(cpu_level(), baseline::columns, v3::columns, v4::columns);
  } else {
    return at_level(cpu_level(), baseline::columns_bf16, v3::columns_bf16, v4::columns_bf16);
  }
}

}  // namespace

template <class T>
ColumnsOf<T>::ColumnsOf(std::size_t channels)
    : kernels_(columns_kernels<T>()),
      channels_(channels),
      together_(rows_together(channels)),
      width_(together_ * channels),
      first_(width_),
      second_(width_) {}

template <class T>
void ColumnsOf<T>::repeat(std::vector<float>& per_channel) const {
  per_channel.resize(width_);
  for (std::size_t i = channels_; i < width_; ++i) per_channel[i] = per_channel[i - channels_];
}

template <class T>
template <class Part>
void ColumnsOf<T>::each_part(std::size_t rows, Part part) const {
  const std::size_t whole = rows / together_, rest = rows % together_;
  if (whole > 0) part(std::size_t{0}, whole, width_);
  if (rest > 0) part(whole * width_, std::size_t{1}, rest * channels_);
}

template <class T>
typename ColumnsOf<T>::Sums ColumnsOf<T>::folded() {
  for (std::size_t i = channels_; i < width_; ++i) {
    first_[i % channels_] += first_[i];
    second_[i % channels_] += second_[i];
  }
  return {first_.data(), second_.data()};
}

template <class T>
typename ColumnsOf<T>::Sums ColumnsOf<T>::sums(std::size_t rows, const T* x, const float* shift) {
  std::fill(first_.begin(), first_.end(), 0);
  std::fill(second_.begin(), second_.end(), 0);
  each_part(rows, [&](std::size_t at, std::size_t part_rows, std::size_t columns) {
    kernels_.sums(part_rows, columns, x + at, shift, first_.data(), second_.data());
  });
  return folded();
}

template <class T>
void ColumnsOf<T>::normalize(std::size_t rows, const T* x, const float* mean, const float* scale,
                             const float* bias, const T* residual, bool relu, T* to) const {
  each_part(rows, [&](std::size_t at, std::size_t part_rows, std::size_t columns) {
    kernels_.normalize(part_rows, columns, x + at, mean, scale, bias,
                       residual == nullptr ? nullptr : residual + at, relu, to + at);
  });
}

template <class T>
typename ColumnsOf<T>::Sums ColumnsOf<T>::gradient_sums(std::size_t rows, const T* x, const float* mean,
                                                        const T* d_output, const T* output, T* masked,
                                                        T* added) {
  std::fill(first_.begin(), first_.end(), 0);
  std::fill(second_.begin(), second_.end(), 0);
  each_part(rows, [&](std::size_t at, std::size_t part_rows, std::size_t columns) {
    const GradientSweep<T> sweep{part_rows,
                                 columns,
                                 x + at,
                                 mean,
                                 d_output + at,
                                 output == nullptr ? nullptr : output + at,
                                 masked == nullptr ? nullptr : masked + at,
                                 added == nullptr ? nullptr : added + at};
    kernels_.gradient_sums(sweep, first_.data(), second_.data());
  });
  return folded();
}

template <class T>
void ColumnsOf<T>::gradient(std::size_t rows, const T* x, const float* mean, const T* gradient,
                            const float* by_gradient, const float* by_x, const float* constant, bool add,
                            T* to) const {
  each_part(rows, [&](std::size_t at, std::size_t part_rows, std::size_t columns) {
    kernels_.gradient(part_rows, columns, x + at, mean, gradient + at, by_gradient, by_x, constant, add,
                      to + at);
  });
}

template class ColumnsOf<float>;
template class ColumnsOf<Bf16Bits>;

}  // namespace steelyard::nn
