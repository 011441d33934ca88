// See row_sums.h.
#include "nn/cpu/direct_vector.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using namespace direct::STEELYARD_LEVEL;  // NOLINT: the vector of this level

// The sums of `vectors` neighbouring vectors of columns stay in registers.
template <int vectors>
[[gnu::always_inline]] inline void sum_columns(const Rows& rows, const float* from, bool add, float* to) {
  Vector sums[vectors];
  for (int v = 0; v < vectors; ++v) sums[v] = add ? load(to + v * width) : Vector{};
  for (std::size_t r = 0; r < rows.count; ++r, from += rows.stride) {
    for (int v = 0; v < vectors; ++v) sums[v] += load(from + v * width);
  }
  for (int v = 0; v < vectors; ++v) store(to + v * width, sums[v]);
}

void sum(Rows rows, const float* from, bool add, float* to) {
  constexpr int many = 8;
  std::size_t c = 0;
  for (; c + many * width <= rows.columns; c += many * width) sum_columns<many>(rows, from + c, add, to + c);
  for (; c + width <= rows.columns; c += width) sum_columns<1>(rows, from + c, add, to + c);
  for (; c < rows.columns; ++c) {
    float all = add ? to[c] : 0;
    for (std::size_t r = 0; r < rows.count; ++r) all += from[r * rows.stride + c];
    to[c] = all;
  }
}

void add(Rows rows, const float* from, const float* row, float* to) {
  for (std::size_t r = 0; r < rows.count; ++r, from += rows.stride, to += rows.stride) {
    std::size_t c = 0;
    for (; c + width <= rows.columns; c += width) store(to + c, load(from + c) + load(row + c));
    for (; c < rows.columns; ++c) to[c] = from[c] + row[c];
  }
}

}  // namespace

const RowSumsTable row_sums = {sum, add};

}  // namespace steelyard::nn::STEELYARD_LEVEL
