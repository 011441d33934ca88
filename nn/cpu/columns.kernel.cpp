// Plain loops over the columns of a row, which the compiler vectorises. All are bound by memory. Sums are in
// float for at most `rows_in_float` rows, in arrays that fit the first-level cache; several rows are summed
// at once, so that these arrays are loaded and stored less often.
//
// Pointers may be equal: each element is then read before it is written, so ivdep is safe.
#include <cstddef>

#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using std::size_t;

constexpr size_t rows_in_float = 128, columns_at_once = 1024;

size_t min_of(size_t a, size_t b) { return a < b ? a : b; }

// Calls `rows_of(first row, rows, first column, columns, sums, more sums)` for blocks, and adds up the sums.
template <class Rows>
[[gnu::always_inline]] inline void summed(size_t rows, size_t channels, double* first, double* second,
                                          Rows rows_of) {
  alignas(64) float a[columns_at_once], b[columns_at_once];
  for (size_t column = 0; column < channels; column += columns_at_once) {
    const size_t columns = min_of(columns_at_once, channels - column);
    for (size_t row = 0; row < rows; row += rows_in_float) {
      for (size_t c = 0; c < columns; ++c) a[c] = b[c] = 0;
      rows_of(row, min_of(rows_in_float, rows - row), column, columns, a, b);
      for (size_t c = 0; c < columns; ++c) {
        first[column + c] += double{a[c]};
        second[column + c] += double{b[c]};
      }
    }
  }
}

void sums(size_t rows, size_t channels, const float* x, const float* shift, double* sums_, double* squares) {
  summed(rows, channels, sums_, squares,
         [=](size_t row, size_t count, size_t column, size_t columns, float* __restrict sum,
             float* __restrict square) {
           const float* __restrict at = x + row * channels + column;
           const float* __restrict from = shift + column;
           size_t r = 0;
           for (; r + 4 <= count; r += 4, at += 4 * channels) {
             for (size_t c = 0; c < columns; ++c) {
               const float p = at[c] - from[c], q = at[channels + c] - from[c];
               const float s = at[2 * channels + c] - from[c], t = at[3 * channels + c] - from[c];
               sum[c] += (p + q) + (s + t);
               square[c] += (p * p + q * q) + (s * s + t * t);
             }
           }
           for (; r < count; ++r, at += channels) {
             for (size_t c = 0; c < columns; ++c) {
               const float p = at[c] - from[c];
               sum[c] += p;
               square[c] += p * p;
             }
           }
         });
}

template <bool Residual, bool Relu>
void normalize_of(size_t rows, size_t channels, const float* x, const float* mean, const float* scale,
                  const float* bias, const float* residual, float* to) {
  for (size_t row = 0; row < rows; ++row, x += channels, to += channels) {
#pragma GCC ivdep
    for (size_t c = 0; c < channels; ++c) {
      float y = (x[c] - mean[c]) * scale[c] + bias[c];
      if constexpr (Residual) y += residual[c];
      if constexpr (Relu) y = y < 0.0F ? 0.0F : y;  // NaN stays NaN
      to[c] = y;
    }
    if constexpr (Residual) residual += channels;
  }
}

void normalize(size_t rows, size_t channels, const float* x, const float* mean, const float* scale,
               const float* bias, const float* residual, bool relu, float* to) {
  const auto kernel = residual != nullptr ? (relu ? normalize_of<true, true> : normalize_of<true, false>)
                                          : (relu ? normalize_of<false, true> : normalize_of<false, false>);
  kernel(rows, channels, x, mean, scale, bias, residual, to);
}

template <bool Relu, bool Write, bool Add>
void gradient_sums_of(const GradientSweep& w, double* sums_, double* dots) {
  summed(w.rows, w.channels, sums_, dots,
         [&w](size_t row, size_t count, size_t column, size_t columns, float* __restrict sum,
              float* __restrict dot) {
           for (size_t r = row; r < row + count; ++r) {
             const size_t at = r * w.channels + column;
             const float *x = w.x + at, *mean = w.mean + column, *d_output = w.d_output + at;
             const float* output = Relu ? w.output + at : nullptr;
             float* masked = Write ? w.masked + at : nullptr;
             float* added = Add ? w.added + at : nullptr;
#pragma GCC ivdep
             for (size_t c = 0; c < columns; ++c) {
               float gradient = d_output[c];
               if constexpr (Relu) gradient = output[c] <= 0.0F ? 0.0F : gradient;
               if constexpr (Write) masked[c] = gradient;
               if constexpr (Add) added[c] += gradient;
               sum[c] += gradient;
               dot[c] += gradient * (x[c] - mean[c]);
             }
           }
         });
}

template <bool Relu>
void gradient_sums_from(const GradientSweep& w, double* sums_, double* dots) {
  const auto kernel =
      w.masked != nullptr
          ? (w.added != nullptr ? gradient_sums_of<Relu, true, true> : gradient_sums_of<Relu, true, false>)
          : (w.added != nullptr ? gradient_sums_of<Relu, false, true> : gradient_sums_of<Relu, false, false>);
  kernel(w, sums_, dots);
}

void gradient_sums(const GradientSweep& w, double* sums_, double* dots) {
  (w.output != nullptr ? gradient_sums_from<true> : gradient_sums_from<false>)(w, sums_, dots);
}

template <bool Add>
void gradient_of(size_t rows, size_t channels, const float* x, const float* mean, const float* gradient,
                 const float* by_gradient, const float* by_x, const float* constant, float* to) {
  for (size_t row = 0; row < rows; ++row, x += channels, gradient += channels, to += channels) {
#pragma GCC ivdep
    for (size_t c = 0; c < channels; ++c) {
      const float d = by_gradient[c] * gradient[c] - by_x[c] * (x[c] - mean[c]) - constant[c];
      to[c] = Add ? to[c] + d : d;
    }
  }
}

void gradient(size_t rows, size_t channels, const float* x, const float* mean, const float* gradient_,
              const float* by_gradient, const float* by_x, const float* constant, bool add, float* to) {
  (add ? gradient_of<true> : gradient_of<false>)(rows, channels, x, mean, gradient_, by_gradient, by_x,
                                                 constant, to);
}

}  // namespace

const ColumnsTable columns = {sums, normalize, gradient_sums, gradient};

}  // namespace steelyard::nn::STEELYARD_LEVEL
