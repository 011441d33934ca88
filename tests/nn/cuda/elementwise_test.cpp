#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::elementwise_test {
namespace {

using Kind = Activation::Kind;

TEST(CudaActivation, AgreesWithTheReference) {
  Random random(1);
  for (const Kind kind : {Kind::relu, Kind::relu6, Kind::gelu, Kind::gelu_tanh, Kind::silu, Kind::hard_swish,
                          Kind::hard_sigmoid, Kind::sigmoid, Kind::tanh}) {
    SCOPED_TRACE(name_of(Activation(kind)));
    for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{8, 8, 12}}) {
      expect_good_cuda_op(Activation(kind), {shape}, random, 1e-5F);
    }
  }
}

// Numbers from a wide range reach every branch of every kind.
TEST(CudaActivation, CoversEveryBranch) {
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
    EXPECT_TRUE(std::isnan(run(op, q, {batch, false}).output[3])) << name_of(Activation(kind));
  }
}

// Bit for bit: a network that moves to another kind of device draws the same masks.
TEST(CudaDropout, DrawsTheMasksOfTheCpu) {
  Random random(1);
  const std::vector<std::uint64_t> positions{5, 800, 3, 1ULL << 40};
  for (const Shape shape :
       {Shape{1, 1, 1}, Shape{5, 3, 7}, Shape{1, 9, 600}, Shape{2, 1, 22}, Shape{9, 80, 100}}) {
    if (!thorough && shape.size() > 6000)
      continue;  // smaller shapes already have several packs of four per thread
    for (const double probability : {0.0, 0.4, 0.9}) {
      SCOPED_TRACE(testing::Message() << shape.size() << " features, " << probability);
      const MicroBatch batch{
          .positions = positions.data(), .size = 4, .count = 3, .seed = 7, .epoch = 1ULL << 35};
      Question q = random_question(Dropout(probability), {shape}, 4, 3, false, random);
      q.place.key = 11;
      OnDevice op(q);
      const Answer expected = run(*reference_op(q), q, {batch, true});
      in_each_schedule([&] {
        const Answer answer = run(op, q, {batch, true});
        EXPECT_EQ(answer.output, expected.output);
        EXPECT_EQ(answer.d_inputs, expected.d_inputs);
      });
      expect_all_buffers(op, q, {batch, true}, expected, 1e-6F);
      EXPECT_EQ(run(op, q, {batch, false}).output, q.inputs[0]) << "in evaluation";
    }
  }
}

TEST(CudaDropout, MasksChangeFromRoundToRound) {
  Random random(2);
  const std::vector<std::uint64_t> positions{5, 800}, others{6, 800};
  const MicroBatch batch{.positions = positions.data(), .size = 2, .count = 2, .seed = 7, .epoch = 3};
  const Question q = random_question(Dropout(0.5), {{1, 1, 100}}, 2, 2, false, random);
  OnDevice op(q);
  const auto output = [&](const MicroBatch& of) { return run(op, q, {of, true}).output; };
  const Floats first = output(batch);
  MicroBatch other = batch;
  other.epoch = 4;
  EXPECT_NE(output(other), first);
  other = batch;
  other.seed = 8;
  EXPECT_NE(output(other), first);
  other = batch;
  other.positions = others.data();
  EXPECT_NE(output(other), first);
  EXPECT_EQ(output(batch), first);
}

// x + x, with one buffer for both gradients and for that of the sum.
TEST(CudaAdd, AddingAValueToItselfDoublesItsGradient) {
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
}  // namespace steelyard::nn::cuda::elementwise_test
