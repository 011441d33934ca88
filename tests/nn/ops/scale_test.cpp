#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::scale_test {
namespace {

TEST(Scale, KnownAnswer) {
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  Question q = random_question(Scale(), {{1, 2, 2}, {1, 1, 2}}, 1, 1, false, random);
  q.inputs = {{1, 2, 3, 4}, {10, 100}};
  q.d_output = {5, 6, 7, 8};
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const Answer answer = run(*make(q), q, {batch, true});
    EXPECT_EQ(answer.output, (Floats{10, 200, 30, 400}));
    EXPECT_EQ(answer.d_inputs[0], (Floats{50, 600, 70, 800}));
    EXPECT_EQ(answer.d_inputs[1], (Floats{26, 44}));
  }
}

TEST(Scale, TheReferenceHasTrueGradients) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(Scale(), {{2, 3, 5}, {1, 1, 5}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(Scale, TheCpuAgreesWithTheReference) {
  Random random(3);
  for (const Shape shape :
       {Shape{1, 1, 5}, Shape{3, 5, 1}, Shape{3, 5, 19}, Shape{2, 2, 64}, Shape{17, 9, 7}}) {
    SCOPED_TRACE(testing::Message() << shape.height << 'x' << shape.width << 'x' << shape.channels);
    expect_good_op(Scale(), {shape, {1, 1, shape.channels}}, random);
  }
}

}  // namespace
}  // namespace steelyard::nn::scale_test
