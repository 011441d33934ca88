#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::group_norm_test {
namespace {

// Two groups of one channel over two places; two samples with different statistics.
TEST(GroupNorm, MatchesKnownValues) {
  Random random(1);
  const MicroBatch batch{.size = 2, .count = 2};
  Question q = random_question(GroupNorm(2, 0.0), {{1, 2, 2}}, 2, 2, false, random);
  q.inputs = {{1, 10, 3, 30, 0, 5, 4, -5}};
  q.parameters = {{2, 3}, {0, 100}};
  q.d_output = {1, 1, 1, 0, 0, 2, 1, 0};
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const Answer answer = run(*make(q), q, {batch, true});
    expect_near(answer.output, {-2, 97, 2, 103, -2, 103, 2, 97}, "output", 1e-6F);
    expect_near(answer.d_parameters[0], {1, 1}, "d_weight", 1e-6F);
    expect_near(answer.d_parameters[1], {3, 3}, "d_bias", 1e-6F);
    expect_near(answer.d_inputs[0], Floats(8, 0), "gradient of the input", 1e-6F);
  }
}

TEST(GroupNorm, ReferenceGradientsMatchFiniteDifferences) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(GroupNorm(2), {{2, 3, 6}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(GroupNorm, TheCpuAgreesWithTheReference) {
  Random random(3);
  const std::vector<std::pair<std::uint32_t, Shape>> cases{
      {1, {3, 5, 1}},   {3, {4, 5, 3}},   {2, {5, 7, 6}},  {3, {3, 3, 39}},
      {32, {2, 3, 64}}, {5, {17, 13, 5}}, {4, {1, 2, 300}}};
  for (const auto& [groups, shape] : cases) {
    SCOPED_TRACE(testing::Message() << groups << " groups of " << shape.channels);
    expect_good_op(GroupNorm(groups), {shape}, random);
  }
}

TEST(GroupNorm, ALargeMeanKeepsTheVariancePrecise) {
  Random random(4);
  const MicroBatch batch{.size = 4, .count = 4};
  Question q = random_question(GroupNorm(2), {{8, 8, 6}}, 4, 4, false, random);
  for (float& x : q.inputs[0]) x = 1000.0F + x;
  const Answer expected = run(*reference_op(q), q, {batch, true});
  expect_same(run(*cpu_op(q), q, {batch, true}), expected, q, {batch, true}, 1e-3F);
}

}  // namespace
}  // namespace steelyard::nn::group_norm_test
