// Plain loops over the columns of a row, which the compiler vectorises. All are bound by memory. Sums are in
// float for at most `rows_in_float` rows, in arrays that fit the first-level cache; several rows are summed
// at once, so that these arrays are loaded and stored less often.
//
// Pointers may be equal: each element is then read before it is written, so ivdep is safe. T is float, or
// Stored: two bytes in memory.
#include <cstddef>

#include "nn/cpu/kernels.h"
#include "nn/cpu/stored.h"

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

template <class T>
void sums(size_t rows, size_t channels, const BitsOf<T>* bits, const float* shift, double* sums_,
          double* squares) {
  const T* const x = numbers<T>(bits);
  summed(rows, channels, sums_, squares,
         [=](size_t row, size_t count, size_t column, size_t columns, float* __restrict sum,
             float* __restrict square) {
           const T* __restrict at = x + row * channels + column;
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

template <class T, bool Residual, bool Relu>
void normalize_of(size_t rows, size_t channels, const T* x, const float* mean, const float* scale,
                  const float* bias, const T* residual, T* to) {
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

template <class T>
void normalize(size_t rows, size_t channels, const BitsOf<T>* x, const float* mean, const float* scale,
               const float* bias, const BitsOf<T>* residual, bool relu, BitsOf<T>* to) {
  const auto kernel = residual != nullptr
                          ? (relu ? normalize_of<T, true, true> : normalize_of<T, true, false>)
                          : (relu ? normalize_of<T, false, true> : normalize_of<T, false, false>);
  kernel(rows, channels, numbers<T>(x), mean, scale, bias, numbers<T>(residual), numbers<T>(to));
}

template <class T, bool Relu, bool Write, bool Add>
void gradient_sums_of(const GradientSweep<BitsOf<T>>& w, double* sums_, double* dots) {
  summed(w.rows, w.channels, sums_, dots,
         [&w](size_t row, size_t count, size_t column, size_t columns, float* __restrict sum,
              float* __restrict dot) {
           for (size_t r = row; r < row + count; ++r) {
             const size_t at = r * w.channels + column;
             const float* mean = w.mean + column;
             const T *x = numbers<T>(w.x) + at, *d_output = numbers<T>(w.d_output) + at;
             const T* output = Relu ? numbers<T>(w.output) + at : nullptr;
             T* masked = Write ? numbers<T>(w.masked) + at : nullptr;
             T* added = Add ? numbers<T>(w.added) + at : nullptr;
#pragma GCC ivdep
             for (size_t c = 0; c < columns; ++c) {
               float gradient = d_output[c];
               if constexpr (Relu) gradient = output[c] <= 0.0F ? 0.0F : gradient;
               if constexpr (Write) masked[c] = gradient;
               if constexpr (Add) added[c] = added[c] + gradient;
               sum[c] += gradient;
               dot[c] += gradient * (x[c] - mean[c]);
             }
           }
         });
}

template <class T, bool Relu>
void gradient_sums_from(const GradientSweep<BitsOf<T>>& w, double* sums_, double* dots) {
  const bool adds = w.added != nullptr;
  const auto kernel =
      w.masked != nullptr
          ? (adds ? gradient_sums_of<T, Relu, true, true> : gradient_sums_of<T, Relu, true, false>)
          : (adds ? gradient_sums_of<T, Relu, false, true> : gradient_sums_of<T, Relu, false, false>);
  kernel(w, sums_, dots);
}

template <class T>
void gradient_sums(const GradientSweep<BitsOf<T>>& w, double* sums_, double* dots) {
  (w.output != nullptr ? gradient_sums_from<T, true> : gradient_sums_from<T, false>)(w, sums_, dots);
}

template <class T, bool Add>
void gradient_of(size_t rows, size_t channels, const T* x, const float* mean, const T* gradient,
                 const float* by_gradient, const float* by_x, const float* constant, T* to) {
  for (size_t row = 0; row < rows; ++row, x += channels, gradient += channels, to += channels) {
#pragma GCC ivdep
    for (size_t c = 0; c < channels; ++c) {
      const float d = by_gradient[c] * gradient[c] - by_x[c] * (x[c] - mean[c]) - constant[c];
      to[c] = Add ? to[c] + d : d;
    }
  }
}

template <class T>
void gradient(size_t rows, size_t channels, const BitsOf<T>* x, const float* mean, const BitsOf<T>* gradient_,
              const float* by_gradient, const float* by_x, const float* constant, bool add, BitsOf<T>* to) {
  (add ? gradient_of<T, true> : gradient_of<T, false>)(rows, channels, numbers<T>(x), mean,
                                                       numbers<T>(gradient_), by_gradient, by_x, constant,
                                                       numbers<T>(to));
}

}  // namespace

const ColumnsTable<float> columns = {sums<float>, normalize<float>, gradient_sums<float>, gradient<float>};
const ColumnsTable<Bf16Bits> columns_bf16 = {sums<Stored>, normalize<Stored>, gradient_sums<Stored>,
                                             gradient<Stored>};

}  // namespace steelyard::nn::STEELYARD_LEVEL
