#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::average_pool_test {
namespace {

TEST(CudaAveragePool, AgreesWithTheReference) {
  Random random(1);
  for (const AveragePool& pool : {AveragePool(2), AveragePool(3, 2, 1), AveragePool(3, 1, 1),
                                  AveragePool(2, 3), AveragePool(5, 2, 2), AveragePool(1, 2)}) {
    for (const Shape input : {Shape{5, 7, 1}, Shape{6, 5, 3}, Shape{9, 8, 16}, Shape{5, 6, 33}}) {
      SCOPED_TRACE(testing::Message() << pool.size << '/' << pool.stride << '/' << pool.padding << " of "
                                      << input.height << 'x' << input.width << 'x' << input.channels);
      expect_good_cuda_op(pool, {input}, random, 1e-5F);
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::average_pool_test
