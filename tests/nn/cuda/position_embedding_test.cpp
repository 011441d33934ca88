#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::position_embedding_test {
namespace {

TEST(CudaPositionEmbedding, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 5, 3}, Shape{1, 9, 40}, Shape{1, 1, 1}}) {
    expect_good_cuda_op(PositionEmbedding{}, {shape}, random);
    expect_good_cuda_op(PositionEmbedding{.rows = 50}, {shape}, random);
    expect_good_cuda_op(PositionEmbedding{.rows = 3, .first_only = true}, {shape}, random);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::position_embedding_test
