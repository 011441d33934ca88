// Bound by memory. Blocks of the first stage take numbers in turn, 16 bytes at a time; the second stage is
// one block. Threads meet once in shared memory, then one warp adds.
#include "nn/cuda/norm.h"

#include <algorithm>

#include "nn/cuda/elementwise.h"
#include "nn/cuda/in_samples.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned threads = 256;

// Of all threads; the sum is right in the first warp.
__device__ double first_warp_sum(double own) {
  STEELYARD_SHARED(double, all, [threads]);
  all[threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.x >= 32) return 0;
  double sum = 0;
  for (unsigned i = threadIdx.x; i < threads; i += 32) sum += all[i];
  for (unsigned mask = 16; mask > 0; mask /= 2) sum += __shfl_xor_sync(all_lanes, sum, mask);
  return sum;
}

template <unsigned n>
__global__ void sum_squares(const float* numbers, std::uint64_t size, double* parts) {
  double sum = 0;
  const std::uint64_t step = std::uint64_t{n} * gridDim.x * blockDim.x;
  std::uint64_t i = n * thread_number();
  for (; i + n <= size; i += step) {
    const Pack<n> pack = load<n>(numbers + i);
    for (unsigned k = 0; k < n; ++k) sum += double{pack.x[k]} * pack.x[k];
  }
  for (; i < size; ++i) sum += double{numbers[i]} * numbers[i];  // of one thread: less than a pack is left
  sum = first_warp_sum(sum);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}

__global__ void finish(const double* parts, std::uint32_t count, double weight, double longest, double* value,
                       float* factor) {
  double sum = 0;
  for (unsigned i = threadIdx.x; i < count; i += threads) sum += parts[i];
  sum = first_warp_sum(sum);
  if (threadIdx.x != 0) return;
  const double norm = sqrt(sum) / weight;
  *value = norm;
  *factor = static_cast<float>(longest > 0 && norm > longest ? longest / norm : 1);
}

struct By {
  const float* factor;
  __device__ float operator()(std::uint64_t, float x) const { return x * *factor; }
};

}  // namespace

void Norm::measure(Stream& stream, const float* gradient, std::uint64_t size, double weight, double longest) {
  constexpr std::uint64_t least = 4096;  // numbers of a block
  const auto blocks =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(groups_of(size, least), 1, most_parts));
  with_packs(can_pack(0, gradient), [&](auto n) {
    launch(stream, blocks, threads, &sum_squares<n>, gradient, size, parts_.data());
  });
  launch(stream, 1, threads, &finish, parts_.data(), blocks, weight, longest, value_.data(), factor_.data());
}

void multiply(Stream& stream, float* numbers, std::uint64_t size, const float* factor) {
  elementwise(stream, size, By{factor}, numbers, numbers);
}

}  // namespace steelyard::nn::cuda
