#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::tokens_test {
namespace {

TEST(CudaTokens, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{4, 4, 8}}) {
    expect_good_cuda_op(Tokens{}, {shape}, random, 1e-6F);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::tokens_test
