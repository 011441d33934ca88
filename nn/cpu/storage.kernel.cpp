// Moves of activations between the storages: plain loops, bound by memory.
#include <cstddef>

#include "nn/cpu/kernels.h"
#include "nn/cpu/stored.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

using std::size_t;

template <class From, class To, bool add>
void move(size_t size, const BitsOf<From>* from_bits, BitsOf<To>* to_bits) {
  const From* __restrict from = numbers<From>(from_bits);
  To* __restrict to = numbers<To>(to_bits);
  for (size_t i = 0; i < size; ++i) to[i] = add ? to[i] + from[i] : float{from[i]};
}

void sum(size_t size, const Bf16Bits* a_bits, const Bf16Bits* b_bits, Bf16Bits* to_bits) {
  const Stored *const a = numbers<Stored>(a_bits), *const b = numbers<Stored>(b_bits);
  Stored* const to = numbers<Stored>(to_bits);
#pragma GCC ivdep  // equal pointers are safe
  for (size_t i = 0; i < size; ++i) to[i] = a[i] + b[i];
}

// Four rows at once, so that the sums are loaded and stored less often.
void sum_rows(size_t rows, size_t columns, const Bf16Bits* from_bits, bool add, float* __restrict to) {
  const Stored* __restrict from = numbers<Stored>(from_bits);
  for (size_t c = 0; !add && c < columns; ++c) to[c] = 0;
  size_t row = 0;
  for (; row + 4 <= rows; row += 4, from += 4 * columns) {
    for (size_t c = 0; c < columns; ++c)
      to[c] += (from[c] + from[columns + c]) + (from[2 * columns + c] + from[3 * columns + c]);
  }
  for (; row < rows; ++row, from += columns) {
    for (size_t c = 0; c < columns; ++c) to[c] += from[c];
  }
}

}  // namespace

const StorageTable storage = {move<Stored, float, false>,
                              move<float, Stored, false>,
                              move<Stored, float, true>,
                              move<float, Stored, true>,
                              sum,
                              sum_rows};

}  // namespace steelyard::nn::STEELYARD_LEVEL
