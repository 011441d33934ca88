#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::scale_test {
namespace {

TEST(CudaScale, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{1, 1, 8}, Shape{3, 5, 7}, Shape{7, 7, 40}}) {
    expect_good_cuda_op(Scale{}, {shape, Shape{1, 1, shape.channels}}, random, 1e-5F);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::scale_test
