#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::token_moves_test {
namespace {

TEST(CudaTokens, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{4, 4, 8}}) {
    expect_good_cuda_op(Tokens{}, {shape}, random, 1e-6F);
  }
}

TEST(CudaClassToken, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 5, 3}, Shape{1, 9, 40}, Shape{1, 1, 1}, Shape{1, 2, 301}}) {
    expect_good_cuda_op(ClassToken{}, {shape}, random);
  }
}

TEST(CudaSelectToken, AgreesWithTheReference) {
  Random random(1);
  for (const std::uint32_t token : {0, 2, 4}) {
    for (const std::uint32_t features : {3, 40, 301}) {
      expect_good_cuda_op(SelectToken(token), {Shape{1, 5, features}}, random);
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::token_moves_test
