#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::concat_test {
namespace {

TEST(CudaConcat, AgreesWithTheReference) {
  Random random(1);
  for (const std::vector<std::uint32_t>& parts :
       {std::vector<std::uint32_t>{1, 1}, {8, 4, 12}, {3, 16}, {33, 7, 2, 8}}) {
    std::vector<Shape> inputs;
    for (const std::uint32_t channels : parts) inputs.push_back({3, 5, channels});
    expect_good_cuda_op(Concat{}, inputs, random, 1e-6F);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::concat_test
