#include "nn/cuda/array_kernels.h"
#include "nn/cuda/sweeps.h"
#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::biased_activation_test {
namespace {

using Kind = Activation::Kind;
constexpr Kind kinds[] = {Kind::relu,       Kind::relu6,        Kind::gelu,    Kind::gelu_tanh, Kind::silu,
                          Kind::hard_swish, Kind::hard_sigmoid, Kind::sigmoid, Kind::tanh};

// Inputs from a wide range reach every branch of every kind.
Question question(Kind kind, Shape shape, std::uint32_t size, std::uint32_t count, bool add, Random& random) {
  Question q = random_question(Activation(kind), {shape}, size, count, add, random);
  q.place.micro_batch = size;
  for (float& value : q.inputs[0]) value *= 8;
  q.parameters = {random_floats(shape.channels, random)};
  q.d_parameters = {random_floats(shape.channels, random)};
  q.rules = {Rule::step};
  return q;
}

// The same for the activation alone, behind a linear layer that has added the bias.
Question without_bias(const Question& q) {
  Question plain = q;
  const Floats& bias = q.parameters[0];
  for (std::size_t i = 0; i < plain.inputs[0].size(); ++i) plain.inputs[0][i] += bias[i % bias.size()];
  plain.parameters.clear();
  plain.d_parameters.clear();
  return plain;
}

OnDevice fused(const Question& q) {
  const auto kind = std::get<Activation>(q.kind);
  return OnDevice([=](const OpPlace& place,
                      const Context& context) { return make_biased_activation(kind, place, context); },
                  q);
}

Answer expected_of(const Question& q, const Pass& pass) {
  const Question plain = without_bias(q);
  Answer expected = run(*reference_op(plain), plain, pass);
  expected.d_parameters = q.d_parameters;
  if (!pass.training) return expected;
  Floats& sums = expected.d_parameters[0];
  std::vector<double> all(sums.size());
  for (std::size_t i = 0; i < expected.d_inputs[0].size(); ++i)
    all[i % all.size()] += expected.d_inputs[0][i];
  for (std::size_t c = 0; c < sums.size(); ++c)
    sums[c] = static_cast<float>(all[c] + (q.add ? double{sums[c]} : 0));
  return expected;
}

// Odd channels, whole packs of four and of eight, one channel; few and many rows.
TEST(BiasedActivation, AgreesWithTheReference) {
  Random random(1);
  for (const Storage storage : {Storage::float32, Storage::bf16}) {
    for (const Kind kind : kinds) {
      for (const Shape shape :
           {Shape{1, 1, 1}, Shape{1, 3, 7}, Shape{2, 5, 12}, Shape{1, 1, 40}, Shape{1, 33, 72}}) {
        if (!thorough && shape.size() > 100) continue;
        SCOPED_TRACE(testing::Message() << name_of(Activation(kind)) << ", " << shape.channels
                                        << " channels, " << (storage == Storage::bf16 ? "bf16" : "float32"));
        const MicroBatch batch{.size = 4, .count = 3};
        const Pass pass{batch, true}, evaluation{batch, false};
        Question q = question(kind, shape, 4, 3, shape.channels == 7, random);
        q.place.storage = storage;
        if (storage == Storage::bf16) {
          for (float& value : q.inputs[0]) value /= 8;  // no corners, where rounding would move the slope
          shorten(q);
        }
        OnDevice op = fused(q);
        const Answer expected = expected_of(q, pass);
        const float tolerance = storage == Storage::bf16 ? 0x1p-6F : 1e-5F;  // of sums of rounded gradients
        in_each_schedule([&] { expect_same(run(op, q, pass), expected, q, pass, tolerance); });
        expect_all_buffers(op, q, pass, expected, tolerance);
        expect_same(run(op, q, evaluation), expected_of(q, evaluation), q, evaluation, tolerance);
      }
    }
  }
}

// Enough rows for two stages of the linear layer's own sum.
TEST(BiasedActivation, HasTheBitsOfSeparateOps) {
  Random random(2);
  const std::uint32_t size = 25;  // 525 rows and more
  const MicroBatch batch{.size = size, .count = size - 1};
  const Pass pass{batch, true};
  for (const Kind kind : kinds) {
    for (const Shape shape : {Shape{1, 22, 8}, Shape{1, 21, 5}}) {
      SCOPED_TRACE(testing::Message() << name_of(Activation(kind)) << ", " << shape.channels << " channels");
      const Question q = question(kind, shape, size, size - 1, true, random), plain = without_bias(q);
      OnDevice op = fused(q), separate(plain);
      const Answer actual = run(op, q, pass), expected = run(separate, plain, pass);
      EXPECT_EQ(actual.output, expected.output);
      EXPECT_EQ(actual.d_inputs, expected.d_inputs);
      Stream stream;
      const std::uint64_t rows = size * pixels_of(shape);
      const DeviceArray<float> in = to_device(stream, expected.d_inputs[0]),
                               sums = to_device(stream, q.d_parameters[0]),
                               workspace(column_sums_workspace(rows, shape.channels));
      column_sums(stream, in.data(), rows, shape.channels, true, sums.data(), workspace.data());
      EXPECT_EQ(actual.d_parameters[0], to_host(stream, sums));
    }
  }
}

// As a linear layer would, which reads the gradients from memory.
TEST(BiasedActivation, InBf16TheGradientOfTheBiasIsTheSumOfStoredNumbers) {
  Random random(3);
  const MicroBatch batch{.size = 4, .count = 4};
  for (const Shape shape : {Shape{1, 300, 8}, Shape{1, 300, 3}}) {
    Question q = question(Kind::gelu, shape, 4, 4, false, random);
    q.place.storage = Storage::bf16;
    OnDevice op = fused(q);
    const Answer answer = run(op, q, {batch, true});
    std::vector<double> sums(shape.channels);
    for (std::size_t i = 0; i < answer.d_inputs[0].size(); ++i)
      sums[i % sums.size()] += answer.d_inputs[0][i];
    for (std::size_t c = 0; c < sums.size(); ++c) EXPECT_NEAR(answer.d_parameters[0][c], sums[c], 1e-4) << c;
  }
}

TEST(BiasedActivation, NanStaysNan) {
  Random random(4);
  const MicroBatch batch{.size = 1, .count = 1};
  for (const Kind kind : {Kind::relu, Kind::relu6, Kind::gelu, Kind::silu, Kind::hard_swish, Kind::tanh}) {
    Question q = question(kind, {1, 1, 5}, 1, 1, false, random);
    q.parameters[0][3] = NAN;
    OnDevice op = fused(q);
    EXPECT_TRUE(std::isnan(run(op, q, {batch, false}).output[3])) << name_of(q.kind);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::biased_activation_test
