#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::layer_norm_test {
namespace {

// Two tokens of two features: 1 and 3 have mean 2 and deviation 1, 10 and 30 have mean 20 and deviation 10.
TEST(LayerNorm, MatchesKnownValues) {
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  Question q = random_question(LayerNorm(0.0), {{1, 2, 2}}, 1, 1, true, random);
  q.inputs = {{1, 3, 10, 30}};
  q.parameters = {{2, 3}, {0, 100}};
  q.d_output = {1, 1, 1, 0};
  q.d_parameters = {{10, 20}, {30, 40}};
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const Answer answer = run(*make(q), q, {batch, true});
    expect_near(answer.output, {-2, 103, -2, 103}, "output", 1e-6F);
    expect_near(answer.d_parameters[0], {8, 21}, "d_weight", 1e-6F);
    expect_near(answer.d_parameters[1], {32, 41}, "d_bias", 1e-6F);
    // With two features, mean and deviation absorb the whole gradient.
    expect_near(answer.d_inputs[0], {0, 0, 0, 0}, "gradient of the input", 1e-6F);
  }
}

TEST(LayerNorm, ReferenceGradientsMatchFiniteDifferences) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(LayerNorm(), {{2, 3, 7}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(LayerNorm, TheCpuAgreesWithTheReference) {
  Random random(3);
  for (const Shape shape :
       {Shape{1, 5, 4}, Shape{1, 9, 19}, Shape{3, 5, 32}, Shape{1, 17, 192}, Shape{1, 3, 333}}) {
    SCOPED_TRACE(testing::Message() << shape.width << 'x' << shape.channels);
    expect_good_op(LayerNorm(), {shape}, random);
  }
}

TEST(LayerNorm, ALargeMeanKeepsTheVariancePrecise) {
  Random random(4);
  const MicroBatch batch{.size = 4, .count = 4};
  Question q = random_question(LayerNorm(), {{1, 8, 200}}, 4, 4, false, random);
  for (float& x : q.inputs[0]) x = 1000.0F + x;
  const Answer expected = run(*reference_op(q), q, {batch, true});
  expect_same(run(*cpu_op(q), q, {batch, true}), expected, q, {batch, true}, 1e-3F);
}

}  // namespace
}  // namespace steelyard::nn::layer_norm_test
