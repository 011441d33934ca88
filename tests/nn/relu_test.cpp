#include "nn/layers/relu.h"

#include "tests/nn/op_run.h"

namespace steelyard::nn {
namespace {

TEST(Relu, CutsNegativeNumbersAndTheirGradients) {
  const Question question{{1, 1, 4}, {1, 1, 4}, {-1, 0, 2, -3}, {5, 6, 7, 8}, {}, {}, false};
  const MicroBatch batch{.size = 1, .count = 1};
  const Answer answer =
      run(*make_reference_relu({1, 1, 4}), Order::samples, Order::samples, question, {batch, true});
  EXPECT_THAT(answer.outputs, testing::ElementsAre(0, 0, 2, 0));
  EXPECT_THAT(answer.d_inputs, testing::ElementsAre(0, 0, 7, 0));
}

TEST(Relu, EqualsTheReferenceAtEveryLength) {
  Random random(9);
  for (std::uint32_t channels = 1; channels < 40; ++channels) {
    const Shape shape{1, 1, channels};
    for (const std::uint32_t size : micro_batch_sizes) {
      const MicroBatch batch{.size = size, .count = size};
      const Pass pass{batch, true};
      const Question question = random_question(shape, shape, 0, size, false, random);
      const Answer expected =
          run(*make_reference_relu(shape), Order::samples, Order::samples, question, pass);
      for (const Order order : {Order::samples, Order::lanes}) {
        const Answer answer = run(*make_relu(shape, order), order, order, question, pass);
        EXPECT_EQ(answer.outputs, expected.outputs);
        EXPECT_EQ(answer.d_inputs, expected.d_inputs);
      }
    }
  }
}

TEST(Relu, LetsANanThrough) {
  const Question question{{1, 1, 2}, {1, 1, 2}, {NAN, 1}, {1, 1}, {}, {}, false};
  const MicroBatch batch{.size = 1, .count = 1};
  for (const Order order : {Order::samples, Order::lanes}) {
    EXPECT_TRUE(
        std::isnan(run(*make_relu({1, 1, 2}, order), order, order, question, {batch, true}).outputs[0]));
  }
}

}  // namespace
}  // namespace steelyard::nn
