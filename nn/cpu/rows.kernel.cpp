// Plain loops, which the compiler vectorises. All are bound by memory.
#include <cstddef>

#include "nn/cpu/direct_vector.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using std::size_t;
using namespace direct::STEELYARD_LEVEL;  // NOLINT: the vector of this level

void sum(size_t size, const float* a, const float* b, float* to) {
#pragma GCC ivdep  // equal pointers are safe
  for (size_t i = 0; i < size; ++i) to[i] = a[i] + b[i];
}

void copy(size_t rows, size_t channels, const float* __restrict from, size_t from_step, float* __restrict to,
          size_t to_step) {
  for (size_t row = 0; row < rows; ++row, from += from_step, to += to_step) {
    for (size_t c = 0; c < channels; ++c) to[c] = from[c];
  }
}

void add(size_t rows, size_t channels, const float* __restrict from, size_t from_step, float* __restrict to,
         size_t to_step) {
  for (size_t row = 0; row < rows; ++row, from += from_step, to += to_step) {
    for (size_t c = 0; c < channels; ++c) to[c] += from[c];
  }
}

void clear(size_t rows, size_t channels, float* to, size_t to_step) {
  for (size_t row = 0; row < rows; ++row, to += to_step) {
    for (size_t c = 0; c < channels; ++c) to[c] = 0;
  }
}

// Four rows at a time, so that sums are loaded and stored once for four.
void mean(size_t rows, size_t channels, const float* __restrict from, float* __restrict to) {
  for (size_t c = 0; c < channels; ++c) to[c] = 0;
  size_t row = 0;
  for (; row + 4 <= rows; row += 4, from += 4 * channels) {
    for (size_t c = 0; c < channels; ++c) {
      to[c] += (from[c] + from[channels + c]) + (from[2 * channels + c] + from[3 * channels + c]);
    }
  }
  for (; row < rows; ++row, from += channels) {
    for (size_t c = 0; c < channels; ++c) to[c] += from[c];
  }
  const float share = 1.0F / static_cast<float>(rows);
  for (size_t c = 0; c < channels; ++c) to[c] *= share;
}

void spread(size_t rows, size_t channels, const float* __restrict from, bool add_, float* __restrict to) {
  const float share = 1.0F / static_cast<float>(rows);
  for (size_t row = 0; row < rows; ++row, to += channels) {
    if (add_) {
      for (size_t c = 0; c < channels; ++c) to[c] += from[c] * share;
    } else {
      for (size_t c = 0; c < channels; ++c) to[c] = from[c] * share;
    }
  }
}

// A constant number of groups, or length, lets the compiler vectorise the loop over the other.
template <size_t Groups, size_t Length, bool Add>
void shuffle_of(size_t rows, size_t groups, size_t length, const float* __restrict from,
                float* __restrict to) {
  if constexpr (Groups > 0) groups = Groups;
  if constexpr (Length > 0) length = Length;
  const auto move = [&](size_t g, size_t j) {
    float& target = to[j * groups + g];
    target = Add ? target + from[g * length + j] : from[g * length + j];
  };
  for (size_t row = 0; row < rows; ++row, from += groups * length, to += groups * length) {
    if constexpr (Length > 0) {
      for (size_t g = 0; g < groups; ++g) {
        for (size_t j = 0; j < length; ++j) move(g, j);
      }
    } else {
      for (size_t j = 0; j < length; ++j) {
        for (size_t g = 0; g < groups; ++g) move(g, j);
      }
    }
  }
}

template <bool Add>
void shuffle_to(size_t rows, size_t groups, size_t length, const float* from, float* to) {
  const auto kernel = groups == 2   ? shuffle_of<2, 0, Add>
                      : groups == 3 ? shuffle_of<3, 0, Add>
                      : groups == 4 ? shuffle_of<4, 0, Add>
                      : length == 2 ? shuffle_of<0, 2, Add>
                      : length == 3 ? shuffle_of<0, 3, Add>
                      : length == 4 ? shuffle_of<0, 4, Add>
                                    : shuffle_of<0, 0, Add>;
  kernel(rows, groups, length, from, to);
}

void shuffle(size_t rows, size_t groups, size_t length, const float* from, bool add_, float* to) {
  (add_ ? shuffle_to<true> : shuffle_to<false>)(rows, groups, length, from, to);
}

// ---- sums of rows

// Keeps the sums of `vectors` neighbouring vectors of columns in registers.
template <int vectors>
[[gnu::always_inline]] inline void sum_columns(const Rows& rows, const float* from, bool add, float* to) {
  Vector sums[vectors];
  for (int v = 0; v < vectors; ++v) sums[v] = add ? load(to + v * width) : Vector{};
  for (std::size_t r = 0; r < rows.count; ++r, from += rows.stride) {
    for (int v = 0; v < vectors; ++v) sums[v] += load(from + v * width);
  }
  for (int v = 0; v < vectors; ++v) store(to + v * width, sums[v]);
}

void sum_rows(Rows rows, const float* from, bool add, float* to) {
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

void add_row(Rows rows, const float* from, const float* row, float* to) {
  for (std::size_t r = 0; r < rows.count; ++r, from += rows.stride, to += rows.stride) {
    std::size_t c = 0;
    for (; c + width <= rows.columns; c += width) store(to + c, load(from + c) + load(row + c));
    for (; c < rows.columns; ++c) to[c] = from[c] + row[c];
  }
}

// ---- softmax
// Three sweeps over a row that stays in the first-level cache.

SoftmaxSums softmax(const float* scores, std::size_t size, float scale, float shift, float* to) {
  const std::size_t whole = size - size % width;
  // Scores that fill no vector, filled up with copies of the first score: they change no maximum.
  const auto rest = [&](float filling) {
    Vector values = broadcast(filling);
    for (std::size_t i = whole; i < size; ++i) values[i - whole] = scores[i];
    return values;
  };
  Vector max = broadcast(scores[0]);
  for (std::size_t i = 0; i < whole; i += width) {
    const Vector value = load(scores + i);
    max = max > value ? max : value;
  }
  const Vector last = rest(scores[0]);
  max = max > last ? max : last;
  const float top = greatest_of(max)[0];

  Vector exponentials = {}, distances = {};
  for (std::size_t i = 0; i < whole; i += width) {
    const Vector distance = load(scores + i) - top;
    const Vector value = exponential(distance);
    exponentials += value;
    distances += distance;
    store(to + i, value);
  }
  if (whole < size) {
    Vector distance = last - top;
    Vector value = exponential(distance);
    for (std::size_t i = size - whole; i < width; ++i) distance[i] = value[i] = 0;
    exponentials += value;
    distances += distance;
    for (std::size_t i = whole; i < size; ++i) to[i] = value[i - whole];
  }
  const SoftmaxSums sums{top, sum_of(exponentials)[0], sum_of(distances)[0]};
  const float share = scale / sums.exponentials;
  for (std::size_t i = 0; i < whole; i += width) store(to + i, load(to + i) * share + shift);
  for (std::size_t i = whole; i < size; ++i) to[i] = to[i] * share + shift;
  return sums;
}

}  // namespace

const RowsTable rows = {sum, copy, add, clear, mean, spread, shuffle};
const RowSumsTable row_sums = {sum_rows, add_row};
const SoftmaxTable softmax_kernels = {softmax};

}  // namespace steelyard::nn::STEELYARD_LEVEL
