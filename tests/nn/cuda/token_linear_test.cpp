#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::token_linear_test {
namespace {

TEST(CudaTokenLinear, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{1, 7, 33}, Shape{3, 4, 5}, Shape{1, 40, 8}}) {
    expect_good_cuda_op(TokenLinear{.outputs = 3}, {shape}, random);
    expect_good_cuda_op(TokenLinear{.outputs = 35, .bias = false}, {shape}, random);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::token_linear_test
