// Statistics and affine maps of the columns of a matrix: what batch norm and group norm are made of. The
// matrix has one row a place and one column a channel, without gaps. Each function is one sweep over it.
//
// Few channels would leave vectors empty, so several rows are taken as one of `width()` floats, a multiple of
// 16. What is told for each channel is therefore an array of that length, the channels again and again:
// repeat() fills one from its first channels. Sums are of floats for some hundred rows and of doubles above.
//
// Buffers may have any alignment. An object keeps sums while it works: for one thread.
#pragma once

#include <cstddef>
#include <vector>

#include "nn/cpu/kernels.h"

namespace steelyard::nn {

class Columns {
 public:
  explicit Columns(std::size_t channels);

  [[nodiscard]] std::size_t width() const { return width_; }
  void repeat(std::vector<float>& per_channel) const;

  struct Sums {
    const double *first, *second;  // for each channel; until the next call
  };

  // Of x - shift and of its square.
  Sums sums(std::size_t rows, const float* x, const float* shift);

  // to = (x - mean) * scale + bias + residual; with `relu`, negative numbers become zero. `residual` may be
  // null; `to` may be any of the buffers.
  void normalize(std::size_t rows, const float* x, const float* mean, const float* scale, const float* bias,
                 const float* residual, bool relu, float* to) const;

  // The gradient behind the tail is d_output, but zero where `output` is not positive, if there is one. It is
  // written to `masked` and added to `added`, where not null; `masked` may be d_output. Of it and of its
  // products with x - mean.
  Sums gradient_sums(std::size_t rows, const float* x, const float* mean, const float* d_output,
                     const float* output, float* masked, float* added);

  // to = by_gradient * gradient - by_x * (x - mean) - constant, or += with `add`; `to` may be `gradient`.
  void gradient(std::size_t rows, const float* x, const float* mean, const float* gradient,
                const float* by_gradient, const float* by_x, const float* constant, bool add,
                float* to) const;

 private:
  // Calls `part(first row, rows, columns)` for what is whole rows of width() and for the rest.
  template <class Part>
  void each_part(std::size_t rows, Part part) const;
  Sums folded();

  const ColumnsTable& kernels_;
  std::size_t channels_, together_, width_;  // rows that are taken as one
  std::vector<double> first_, second_;
};

}  // namespace steelyard::nn
