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
  // A vector as input is not transposed, so all barriers of array_kernels.cu are in the sum of the bias
  // gradient.
  expect_needed_barriers("linear.cu",
                         {random_question(Linear{.outputs = 40}, {{6, 6, 35}}, 4, 4, false, random)}, 4, 4);
  expect_needed_barriers("array_kernels.cu",
                         {random_question(Linear{.outputs = 40}, {{1, 1, 35}}, 4, 4, false, random)}, 4, 4);
}

// The layer of the scores, in a network in bf16: only the factors are bfloat16.
TEST(CudaLinear, WithFloatsInBf16OnlyFactorsAreRounded) {
  Random random(3);
  const OpKind layers[] = {Linear{.outputs = 40}, TokenLinear{.outputs = 7}};
  for (const OpKind& layer : layers) {
    for (const Shape shape : {Shape{1, 1, 33}, Shape{5, 3, 6}}) {
      for (const bool rounds : {false, true}) {
        const MicroBatch batch{.size = 4, .count = 3};
        const Pass pass{batch, true};
        Question q = random_question(layer, {shape}, 4, 3, true, random);
        if (!rounds) shorten(q);
        const Answer expected = run(*reference_op(q), q, pass);
        q.place.precision = Precision::bf16;
        OnDevice op(q);
        const Answer actual = run(op, q, pass);
        expect_same(actual, expected, q, pass, rounds ? 0x1p-6F : 2e-4F);
        double most = 0;
        for (std::size_t i = 0; i < expected.output.size(); ++i)
          most = std::max(most, std::abs(double{actual.output[i]} - expected.output[i]));
        EXPECT_EQ(most > 1e-4, rounds);
      }
    }
  }
}

TEST(CudaTokenLinear, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{1, 7, 33}, Shape{3, 4, 5}, Shape{1, 40, 8}}) {
    expect_good_cuda_op(TokenLinear{.outputs = 3}, {shape}, random);
    expect_good_cuda_op(TokenLinear{.outputs = 35, .bias = false}, {shape}, random);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::linear_test
