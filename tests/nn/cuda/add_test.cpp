#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::add_test {
namespace {

TEST(CudaAdd, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{8, 8, 12}}) {
    expect_good_cuda_op(Add{}, {shape, shape}, random, 1e-6F);
  }
}

// x + x, with one buffer for both gradients and for that of the sum.
TEST(CudaAdd, OfAValueToItselfDoublesItsGradient) {
  Random random(2);
  const MicroBatch batch{.size = 2, .count = 2};
  const Question q = random_question(Add{}, {{3, 3, 5}, {3, 3, 5}}, 2, 2, false, random);
  OnDevice op(q);
  Floats d_output = q.d_output;
  const std::vector<const float*> inputs{q.inputs[0].data(), q.inputs[0].data()};
  const std::vector<InputGradient> d_inputs{{d_output.data(), false}, {d_output.data(), true}};
  op.backward({batch, true}, {inputs, {}, q.inputs[1].data(), d_output.data(), d_inputs, {}, false, nullptr});
  for (std::size_t i = 0; i < d_output.size(); ++i) ASSERT_EQ(d_output[i], 2 * q.d_output[i]) << i;
}

}  // namespace
}  // namespace steelyard::nn::cuda::add_test
