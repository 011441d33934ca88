#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::linear_test {
namespace {

using testing::ElementsAre;

TEST(Linear, ReadsImagesChannelByChannel) {
  const MicroBatch batch{.size = 1, .count = 1};
  const Pass pass{batch, true};
  Random random(1);
  Question q = random_question(Linear{.outputs = 1}, {{1, 2, 2}}, 1, 1, false, random);
  q.inputs = {{1, 10, 2, 20}};  // pixel by pixel
  q.parameters = {{1, 2, 3, 4}, {1000}};
  q.d_output = {5};
  const Answer expected = run(*reference_op(q), q, pass);
  EXPECT_THAT(expected.output, ElementsAre(1 + 4 + 30 + 80 + 1000));
  EXPECT_THAT(expected.d_parameters[0], ElementsAre(5, 10, 50, 100));
  EXPECT_THAT(expected.d_inputs[0], ElementsAre(5, 15, 10, 20));
  expect_same(run(*cpu_op(q, Order::lanes), q, pass, Order::lanes, Order::lanes), expected, q, pass);
}

TEST(Linear, ReferenceGradientsMatchFiniteDifferences) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(Linear{.outputs = 5}, {{2, 3, 2}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(Linear, TheCpuMatchesTheReference) {
  Random random(3);
  for (const bool bias : {true, false}) {
    for (const Shape in : {Shape{1, 1, 1}, Shape{1, 1, 33}, Shape{5, 7, 1}, Shape{3, 3, 5}}) {
      for (const std::uint32_t size : micro_batch_sizes) {
        const MicroBatch batch{.size = size, .count = size - size / 4};
        const Pass pass{batch, true};
        const Question q = random_question(Linear{.outputs = 17, .bias = bias}, {in}, size, batch.count,
                                           size % 2 == 0, random);
        const Answer expected = run(*reference_op(q), q, pass);
        expect_same(run(*cpu_op(q, Order::lanes), q, pass, Order::lanes, Order::lanes), expected, q, pass);
        if (in.channels > 1 && in.height > 1) continue;
        expect_same(run(*cpu_op(q), q, pass, Order::samples, Order::lanes), expected, q, pass);
      }
    }
  }
}

TEST(Linear, SupportsBf16) {
  Random random(6);
  for (const bool add : {false, true}) {
    expect_same_in_bf16(Linear{.outputs = 333}, {{1, 1, 70}}, 8, 5, add, random, Order::lanes);
    expect_same_in_bf16(Linear{.outputs = 60, .bias = false}, {{1, 1, 300}}, 32, 32, add, random,
                        Order::lanes);
  }
}

}  // namespace
}  // namespace steelyard::nn::linear_test
