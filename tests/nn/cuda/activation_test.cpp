#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::activation_test {
namespace {

using Kind = Activation::Kind;

TEST(CudaActivation, AgreesWithTheReference) {
  Random random(1);
  for (const Kind kind : {Kind::relu, Kind::relu6, Kind::gelu, Kind::gelu_tanh, Kind::silu, Kind::hard_swish,
                          Kind::hard_sigmoid, Kind::sigmoid, Kind::tanh}) {
    SCOPED_TRACE(Activation(kind).name);
    for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{8, 8, 12}}) {
      expect_good_cuda_op(Activation(kind), {shape}, random, 1e-5F);
    }
  }
}

// Every branch of every kind is met.
TEST(CudaActivation, WideNumbers) {
  Random random(2);
  const MicroBatch batch{.size = 8, .count = 7};
  for (const Kind kind : {Kind::relu, Kind::relu6, Kind::gelu, Kind::gelu_tanh, Kind::silu, Kind::hard_swish,
                          Kind::hard_sigmoid, Kind::sigmoid, Kind::tanh}) {
    Question q = random_question(Activation(kind), {{3, 3, 5}}, 8, 7, false, random);
    for (float& value : q.inputs[0]) value *= 12;
    OnDevice op(q);
    expect_same(run(op, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true}, 1e-5F);
  }
}

TEST(CudaActivation, NanStaysNan) {
  Random random(3);
  const MicroBatch batch{.size = 1, .count = 1};
  for (const Kind kind : {Kind::relu, Kind::relu6, Kind::gelu, Kind::silu, Kind::hard_swish, Kind::tanh}) {
    Question q = random_question(Activation(kind), {{1, 1, 5}}, 1, 1, false, random);
    q.inputs[0][3] = NAN;
    OnDevice op(q);
    EXPECT_TRUE(std::isnan(run(op, q, {batch, false}).output[3])) << Activation(kind).name;
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::activation_test
