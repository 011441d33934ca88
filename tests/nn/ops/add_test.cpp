#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::add_test {
namespace {

TEST(Add, KnownAnswer) {
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  Question q = random_question(Add(), {{1, 1, 3}, {1, 1, 3}}, 1, 1, false, random);
  q.inputs = {{1, 2, 3}, {10, -20, 30}};
  q.d_output = {5, 6, 7};
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const std::unique_ptr<Op> op = make(q);
    const Answer answer = run(*op, q, {batch, true});
    EXPECT_EQ(answer.output, (Floats{11, -18, 33}));
    EXPECT_EQ(answer.d_inputs[0], q.d_output);
    EXPECT_EQ(answer.d_inputs[1], q.d_output);
  }
}

TEST(Add, TheReferenceHasTrueGradients) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(Add(), {{2, 3, 5}, {2, 3, 5}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(Add, TheCpuAgreesWithTheReference) {
  Random random(3);
  for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{7, 31, 40}}) {
    expect_good_op(Add(), {shape, shape}, random, 1e-6F);
  }
}

// x + x, whose first gradient is in place and whose second is added to it.
TEST(Add, AValueMayBeAddedToItself) {
  const MicroBatch batch{.size = 1, .count = 1};
  const std::unique_ptr<Op> op = cpu::make(Add(), {.inputs = {{1, 1, 3}, {1, 1, 3}}, .output = {1, 1, 3}});
  Floats x{1, 2, 3}, gradient{5, 6, 7};
  const std::vector<const float*> inputs{x.data(), x.data()};
  op->forward({batch, true}, {inputs, {}, x.data(), nullptr});
  EXPECT_EQ(x, (Floats{2, 4, 6}));
  const std::vector<InputGradient> d_inputs{{gradient.data(), false}, {gradient.data(), true}};
  op->backward({batch, true}, {inputs, {}, x.data(), gradient.data(), d_inputs, {}, false, nullptr});
  EXPECT_EQ(gradient, (Floats{10, 12, 14}));
}

TEST(Add, LanesAreCountedInsteadOfSamples) {
  Random random(4);
  for (const std::uint32_t size : {2U, 32U}) {
    const Pass pass{{.size = size, .count = size}, true};
    const Question q = random_question(Add(), {{3, 3, 5}, {3, 3, 5}}, size, size, false, random);
    expect_same(run(*cpu_op(q, Order::lanes), q, pass, Order::lanes, Order::lanes),
                run(*reference_op(q), q, pass), q, pass, 1e-6F);
  }
}

}  // namespace
}  // namespace steelyard::nn::add_test
