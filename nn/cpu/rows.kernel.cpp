// Plain loops: the compiler makes vectors of them. All are bound by memory.
#include <cstddef>

#include "nn/cpu/kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using std::size_t;

void sum(size_t size, const float* a, const float* b, float* to) {
#pragma GCC ivdep  // equal pointers do no harm
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

// A number of groups, or a length, that the compiler knows makes vectors of the loop over the other.
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

}  // namespace

const RowsTable rows = {sum, copy, add, clear, mean, spread, shuffle};

}  // namespace steelyard::nn::STEELYARD_LEVEL
