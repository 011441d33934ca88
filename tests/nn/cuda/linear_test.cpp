#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::linear_test {
namespace {

TEST(CudaLinear, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape :
       {Shape{1, 1, 1}, Shape{1, 1, 33}, Shape{5, 7, 1}, Shape{thorough ? 4U : 1U, 9, 35}}) {
    expect_good_cuda_op(Linear{.outputs = 1}, {shape}, random);
    expect_good_cuda_op(Linear{.outputs = 40, .bias = false}, {shape}, random);
  }
}

TEST(CudaLinear, EachBarrierIsNeeded) {
  Random random(2);
  const std::vector<Question> questions{
      random_question(Linear{.outputs = 40}, {{6, 6, 35}}, 4, 4, false, random)};
  expect_needed_barriers("tiled_product.cu", questions, 4, 4);
  expect_needed_barriers("column_sums.cu", questions, 4, 4);
}

}  // namespace
}  // namespace steelyard::nn::cuda::linear_test
