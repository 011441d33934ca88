// Small matrix products with operands in the caches: for kernels only, in the namespace of the level. A tile
// of the result stays in registers while the kernel runs along the depth.
#pragma once

#include <cstddef>

#include "nn/cpu/direct_vector.h"

namespace steelyard::nn::direct::STEELYARD_LEVEL {

using Index = std::ptrdiff_t;

// Rows of a tile: as many as fit in registers, with two vectors per row.
constexpr Index tile_rows = width == 16 ? 8 : 4;

// Element [i][j] is data[i * row + j * column].
struct Left {
  const float* data;
  Index row, column;
};
struct Right {
  const float* data;
  Index row;
};
struct Result {
  float* data;
  Index row;
};
// The part of the depth that a tile needs, if it begins left of `columns`.
struct Need {
  Index begin, end, columns;
};

template <bool add, int rows, int vectors>
[[gnu::always_inline]] inline void tile(Left a, const float* b, Index b_row, Need need, float* c,
                                        Index c_row) {
  Vector sums[rows][vectors] = {};
  for (Index k = need.begin; k < need.end; ++k) {
#pragma GCC unroll 8
    for (int r = 0; r < rows; ++r) {
      const Vector left = broadcast(a.data[r * a.row + k * a.column]);
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) sums[r][v] += left * load(b + k * b_row + v * width);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < rows; ++r) {
#pragma GCC unroll 2
    for (int v = 0; v < vectors; ++v) {
      float* const to = c + r * c_row + v * width;
      store(to, add ? load(to) + sums[r][v] : sums[r][v]);
    }
  }
}

template <bool add, int vectors, class Needs>
void tiles(Index rows, Index column, Left a, Right b, Result c, Needs needs) {
  Index i = 0;
  const auto some = [&]<int count>() {
    const Need need = needs(i, Index{count});
    if (column < need.columns) {
      tile<add, count, vectors>({a.data + i * a.row, a.row, a.column}, b.data + column, b.row, need,
                                c.data + i * c.row + column, c.row);
    }
    i += count;
  };
  while (i + tile_rows <= rows) some.template operator()<tile_rows>();
  while (i < rows) some.template operator()<1>();
}

// c = a b, or c += a b, for rows x columns, a multiple of `width`. needs(first row, rows) returns the Need of
// a tile.
template <bool add = false, class Needs>
void multiply(Index rows, Index columns, Left a, Right b, Result c, Needs needs) {
  Index column = 0;
  for (; column + 2 * width <= columns; column += 2 * width) tiles<add, 2>(rows, column, a, b, c, needs);
  if (column < columns) tiles<add, 1>(rows, column, a, b, c, needs);
}

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
