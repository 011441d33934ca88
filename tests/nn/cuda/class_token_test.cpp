#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::class_token_test {
namespace {

TEST(CudaClassToken, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 5, 3}, Shape{1, 9, 40}, Shape{1, 1, 1}, Shape{1, 2, 301}}) {
    expect_good_cuda_op(ClassToken{}, {shape}, random);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::class_token_test
