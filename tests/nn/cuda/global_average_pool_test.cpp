#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::global_average_pool_test {
namespace {

TEST(CudaGlobalAveragePool, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{7, 7, 40}, Shape{1, 17, 300}}) {
    expect_good_cuda_op(GlobalAveragePool{}, {shape}, random, 1e-5F);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::global_average_pool_test
