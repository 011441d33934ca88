// Columns: statistics and affine maps of the columns of a matrix, for batch norm and group norm. The matrix
// has one row per pixel and one column per channel, without gaps. Each function is one sweep over it.
//
// Few channels would leave vectors partly empty, so several rows are processed as one of `width()` floats, a
// multiple of 16. Arrays with a value per channel therefore have that length and repeat the channels:
// repeat() fills one from its first channels. Sums are in float for some hundred rows and in double above.
//
// T, the type of the matrices' numbers, is float or Bf16Bits; computed with floats in either.
//
// Buffers may have any alignment. An object owns the memory of its sums, so it belongs to one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "nn/cpu/kernels.h"

namespace steelyard::nn {

template <class T>
class ColumnsOf {
 public:
  explicit ColumnsOf(std::size_t channels);

  [[nodiscard]] std::size_t width() const { return width_; }
  void repeat(std::vector<float>& per_channel) const;

  struct Sums {
    const double *first, *second;  // per channel; valid until the next call
  };

  // Sums of x - shift and of its square.
  Sums sums(std::size_t rows, const T* x, const float* shift);

  // to = (x - mean) * scale + bias + residual; with `relu`, negative numbers become zero. `residual` may be
  // null; `to` may be any of the buffers.
  void normalize(std::size_t rows, const T* x, const float* mean, const float* scale, const float* bias,
                 const T* residual, bool relu, T* to) const;

  // The gradient behind the tail is d_output, or zero where `output` (if not null) is not positive. It is
  // written to `masked` and added to `added`, if not null; `masked` may be d_output. Returns the sums of it
  // and of its products with x - mean.
  Sums gradient_sums(std::size_t rows, const T* x, const float* mean, const T* d_output, const T* output,
                     T* masked, T* added);

  // to = by_gradient * gradient - by_x * (x - mean) - constant, or += with `add`; `to` may be `gradient`.
  void gradient(std::size_t rows, const T* x, const float* mean, const T* gradient, const float* by_gradient,
                const float* by_x, const float* constant, bool add, T* to) const;

 private:
  // Calls `part(first row, rows, columns)` for whole rows of width() and for the rest.
  template <class Part>
  void each_part(std::size_t rows, Part part) const;
  Sums folded();

  const ColumnsTable<T>& kernels_;
  std::size_t channels_, together_, width_;  // rows processed as one
  std::vector<double> first_, second_;
};

using Columns = ColumnsOf<float>;

}  // namespace steelyard::nn
