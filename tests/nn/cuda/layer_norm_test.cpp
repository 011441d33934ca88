#include "tests/nn/cuda/arrays.h"
#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::layer_norm_test {
namespace {

TEST(CudaLayerNorm, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape :
       {Shape{1, 1, 2}, Shape{1, 5, 33}, Shape{3, 3, 7}, Shape{1, 9, 64}, Shape{1, 2, 301}}) {
    expect_good_cuda_op(LayerNorm(), {shape}, random);
  }
}

// Whole packs: each number of packs per lane, and more features than one sweep takes. Enough tokens that
// warps have several.
TEST(CudaLayerNorm, SupportsAnyNumberOfFeatures) {
  Random random(4);
  using Numbers = std::vector<std::uint32_t>;
  for (const std::uint32_t features :
       thorough ? Numbers{4, 128, 132, 260, 384, 512, 900, 1024, 1028, 1030} : Numbers{132, 1028}) {
    for (const bool add : {false, true}) {
      const std::uint32_t size = thorough && features <= 132 ? 800 : 4;
      const MicroBatch batch{.size = size, .count = size - 1};
      Question q = random_question(LayerNorm(), {{1, 3, features}}, size, size - 1, add, random);
      q.place.micro_batch = size;
      const Pass pass{batch, true};
      const Answer expected = run(*reference_op(q), q, pass);
      OnDevice op(q);
      expect_same(run(op, q, pass), expected, q, pass);
      if (size <= 4) expect_all_buffers(op, q, pass, expected);
    }
  }
}

// The addition before it, in the same sweep: also in place of a term.
TEST(CudaLayerNorm, AddsTermsWithTheBitsOfTheAddition) {
  Random random(6);
  const MicroBatch batch{.size = 4, .count = 3};
  const Pass pass{batch, true};
  for (const Storage storage : {Storage::float32, Storage::bf16}) {
    for (const std::uint32_t features : {1U, 7U, 33U, 64U, 132U, 264U}) {
      SCOPED_TRACE(testing::Message() << features << (storage == Storage::bf16 ? " in bf16" : " in float32"));
      const Shape shape{1, 3, features};
      Question sum = random_question(Add{}, {shape, shape}, 4, 3, false, random);
      Question norm = random_question(LayerNorm(), {shape}, 4, 3, false, random);
      sum.place.storage = norm.place.storage = storage;
      if (storage == Storage::bf16) shorten(sum);
      OnDevice add(sum), separate(norm),
          merged([](const OpPlace&place,
                    const Context&context) { return cuda::make(LayerNorm(), place, context); },
                 {.inputs = {shape, shape}, .output = shape, .micro_batch = 4, .storage = storage},
                 {features, features});
      norm.inputs[0] = run(add, sum, pass).output;
      const Answer expected = run(separate, norm, pass);
      in_each_schedule([&] {
        for (const bool in_place : {false, true}) {
          Floats a = sum.inputs[0], own(a.size(), NAN), output(a.size(), NAN), d_input(a.size(), NAN);
          Floats d_output = norm.d_output, d_weight = norm.d_parameters[0], d_bias = norm.d_parameters[1];
          Floats& total = in_place ? a : own;
          const std::vector<const float*> terms{a.data(), sum.inputs[1].data()}, whole{total.data()},
              parameters{norm.parameters[0].data(), norm.parameters[1].data()};
          merged.forward(pass, {terms, parameters, output.data(), nullptr, total.data()});
          EXPECT_EQ(total, norm.inputs[0]);
          EXPECT_EQ(output, expected.output);
          const std::vector<InputGradient> to{{d_input.data()}};
          const std::vector<float*> d_parameters{d_weight.data(), d_bias.data()};
          merged.backward(
              pass, {whole, parameters, output.data(), d_output.data(), to, d_parameters, false, nullptr});
          EXPECT_EQ(d_input, expected.d_inputs[0]);
          EXPECT_EQ(d_weight, expected.d_parameters[0]);
          EXPECT_EQ(d_bias, expected.d_parameters[1]);
        }
      });
    }
  }
}

// Parameters are not aligned behind a tensor of ten numbers. Packs of one number would add in another order.
TEST(CudaLayerNorm, ParametersMayBeAnywhere) {
  Random random(7);
  constexpr std::uint32_t features = 132, tokens = 20;
  const Floats x = random_floats(tokens * features, random), d = random_floats(tokens * features, random),
               values = random_floats(2 * features, random);
  const auto results = [&](std::uint64_t first) {
    Stream stream;
    Products products(stream, Precision::float32);
    const Context context{stream, products, nullptr, nullptr, nullptr};
    const Shape shape{1, tokens, features};
    const auto op = cuda::make(LayerNorm(), {.inputs = {shape}, .output = shape, .micro_batch = 1}, context);
    Floats moved(first);
    moved.insert(moved.end(), values.begin(), values.end());
    const DeviceArray<float> in = to_device(stream, x), d_out = to_device(stream, d), out(x.size()),
                             parameters = to_device(stream, moved), gradient(moved.size()), d_in(x.size()),
                             workspace(op->traits().workspace);
    const MicroBatch batch{.size = 1, .count = 1};
    const std::vector<const float*> inputs{in.data()},
        given{parameters.data() + first, parameters.data() + first + features};
    const std::vector<InputGradient> to{{d_in.data()}};
    const std::vector<float*> d_given{gradient.data() + first, gradient.data() + first + features};
    op->forward({batch, true}, {inputs, given, out.data(), workspace.data()});
    op->backward({batch, true},
                 {inputs, given, out.data(), d_out.data(), to, d_given, false, workspace.data()});
    Floats gradients = to_host(stream, gradient);
    gradients.erase(gradients.begin(), gradients.begin() + static_cast<std::ptrdiff_t>(first));
    return std::vector{to_host(stream, out), to_host(stream, d_in), gradients};
  };
  EXPECT_EQ(results(1), results(0));
}

TEST(CudaLayerNorm, EachBarrierIsNeeded) {
  Random random(5);
  expect_needed_barriers("layer_norm.cu", {random_question(LayerNorm(), {{1, 20, 132}}, 1, 1, false, random)},
                         1, 1);
}

TEST(CudaLayerNorm, ALargeMeanKeepsResultsPrecise) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 4};
  Question q = random_question(LayerNorm(), {{1, 3, 50}}, 4, 4, false, random);
  for (float& x : q.inputs[0]) x = 1000 + x;
  OnDevice op(q);
  expect_same(run(op, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true}, 2e-3F);
}

// Equal features have variance zero, and no result may become infinite.
TEST(CudaLayerNorm, EqualFeaturesGiveFiniteResults) {
  Random random(3);
  const MicroBatch batch{.size = 2, .count = 2};
  Question q = random_question(LayerNorm(), {{1, 1, 6}}, 2, 2, false, random);
  for (float& x : q.inputs[0]) x = 3;
  OnDevice op(q);
  expect_same(run(op, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true}, 1e-5F);
}

}  // namespace
}  // namespace steelyard::nn::cuda::layer_norm_test
