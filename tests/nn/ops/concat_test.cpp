#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::concat_test {
namespace {

TEST(Concat, KnownAnswer) {
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  Question q = random_question(Concat(), {{1, 2, 1}, {1, 2, 2}}, 1, 1, false, random);
  q.inputs = {{1, 2}, {10, 20, 30, 40}};
  q.d_output = {1, 2, 3, 4, 5, 6};
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const Answer answer = run(*make(q), q, {batch, true});
    EXPECT_EQ(answer.output, (Floats{1, 10, 20, 2, 30, 40}));
    EXPECT_EQ(answer.d_inputs[0], (Floats{1, 4}));
    EXPECT_EQ(answer.d_inputs[1], (Floats{2, 3, 5, 6}));
  }
}

TEST(Concat, TheReferenceHasTrueGradients) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(Concat(), {{2, 3, 2}, {2, 3, 3}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(Concat, TheCpuAgreesWithTheReference) {
  Random random(3);
  expect_good_op(Concat(), {{3, 5, 1}, {3, 5, 7}}, random, 0);
  expect_good_op(Concat(), {{1, 1, 16}, {1, 1, 33}}, random, 0);
  expect_good_op(Concat(), {{4, 3, 5}, {4, 3, 40}, {4, 3, 3}}, random, 0);
}

}  // namespace
}  // namespace steelyard::nn::concat_test
