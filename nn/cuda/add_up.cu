#include "nn/cuda/add_up.h"

#include "nn/cuda/elementwise.h"

namespace steelyard::nn::cuda {
namespace {

struct Sum {
  __device__ float operator()(std::uint64_t, float a, float b) const { return a + b; }
};

}  // namespace

void add_up(Stream& stream, std::uint64_t n, const float* from, float* to) {
  const float* const before = to;
  elementwise(stream, n, Sum(), to, from, before);
}

}  // namespace steelyard::nn::cuda
