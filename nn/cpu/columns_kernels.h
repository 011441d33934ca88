// What the norms and their kernels share; nn/cpu/columns.h says what each function is for. Matrices of `rows`
// x `channels` floats without gaps. Plain declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstddef>

namespace steelyard::nn {

struct GradientSweep {
  std::size_t rows, channels;
  const float *x, *mean, *d_output;
  const float* output;  // null: no ReLU
  float *masked, *added;
};

struct ColumnsTable {
  void (*sums)(std::size_t rows, std::size_t channels, const float* x, const float* shift, double* sums,
               double* squares);
  void (*normalize)(std::size_t rows, std::size_t channels, const float* x, const float* mean,
                    const float* scale, const float* bias, const float* residual, bool relu, float* to);
  void (*gradient_sums)(const GradientSweep& sweep, double* sums, double* dots);
  void (*gradient)(std::size_t rows, std::size_t channels, const float* x, const float* mean,
                   const float* gradient, const float* by_gradient, const float* by_x, const float* constant,
                   bool add, float* to);
};

// clang-format off
namespace baseline { extern const ColumnsTable columns; }
namespace v3 { extern const ColumnsTable columns; }
namespace v4 { extern const ColumnsTable columns; }
// clang-format on

}  // namespace steelyard::nn
