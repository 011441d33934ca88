// Each token counts those that come before it: tokens x tokens comparisons of integers, 256 from shared
// memory at a time. Nothing beside the rest of a network for the tens of thousands of tokens that a
// micro-batch has.
#include "nn/cuda/sort_tokens.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned threads = 256;

__global__ void sort(const float* numbers, std::uint32_t tokens, std::uint32_t rows, Sorted sorted) {
  STEELYARD_SHARED(std::uint32_t, others, [threads]);
  const std::uint32_t own = blockIdx.x * threads + threadIdx.x;
  const std::uint32_t row = own < tokens ? row_of(numbers[own], rows) : 0;
  std::uint32_t before = 0;
  for (std::uint32_t first = 0; first < tokens; first += threads) {
    const std::uint32_t other = first + threadIdx.x;
    others[threadIdx.x] = other < tokens ? row_of(numbers[other], rows) : 0xFFFFFFFF;
    __syncthreads();
    for (unsigned i = 0; i < threads; ++i)
      before += others[i] < row || (others[i] == row && first + i < own) ? 1 : 0;
    __syncthreads();
  }
  if (own >= tokens) return;
  sorted.rows[before] = row;
  sorted.tokens[before] = own;
}

}  // namespace

void sort_tokens(Stream& stream, const float* numbers, std::uint32_t tokens, std::uint32_t rows,
                 Sorted sorted) {
  launch(stream, groups_of(tokens, threads), threads, &sort, numbers, tokens, rows, sorted);
}

}  // namespace steelyard::nn::cuda
