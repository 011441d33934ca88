#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::global_average_pool_test {
namespace {

TEST(GlobalAveragePool, KnownAnswer) {
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  Question q = random_question(GlobalAveragePool(), {{1, 2, 3}}, 1, 1, false, random);
  q.inputs = {{1, 2, 3, 5, 0, -9}};
  q.d_output = {4, 6, 8};
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const std::unique_ptr<Op> op = make(q);
    const Answer answer = run(*op, q, {batch, true});
    EXPECT_EQ(answer.output, (Floats{3, 1, -3}));
    EXPECT_EQ(answer.d_inputs[0], (Floats{2, 3, 4, 2, 3, 4}));
  }
}

TEST(GlobalAveragePool, TheReferenceHasTrueGradients) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(GlobalAveragePool(), {{2, 3, 5}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(GlobalAveragePool, TheCpuAgreesWithTheReference) {
  Random random(3);
  for (const Shape shape :
       {Shape{1, 1, 1}, Shape{1, 1, 19}, Shape{3, 5, 7}, Shape{7, 31, 40}, Shape{8, 8, 3}}) {
    expect_good_op(GlobalAveragePool(), {shape}, random, 1e-5F);
  }
}

}  // namespace
}  // namespace steelyard::nn::global_average_pool_test
