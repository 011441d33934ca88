// What sums of rows and their kernels share. Plain declarations only, as in nn/cpu/direct_kernels.h.
#pragma once

#include <cstddef>

namespace steelyard::nn {

// A row-major matrix whose rows lie `stride` floats apart.
struct Rows {
  std::size_t count, columns, stride;
};

struct RowSumsTable {
  void (*sum)(Rows, const float* from, bool add, float* to);
  void (*add)(Rows, const float* from, const float* row, float* to);
};

// clang-format off
namespace baseline { extern const RowSumsTable row_sums; }
namespace v3 { extern const RowSumsTable row_sums; }
namespace v4 { extern const RowSumsTable row_sums; }
// clang-format on

}  // namespace steelyard::nn
