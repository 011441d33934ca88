#include "nn/layers/linear.h"

#include "tests/nn/op_run.h"

namespace steelyard::nn {
namespace {

struct Case {
  Shape input;
  std::uint32_t outputs;
  Order order;
};

class LinearTest : public testing::TestWithParam<Case> {};

TEST_P(LinearTest, EqualsTheReferenceInEveryMicroBatchSize) {
  const auto [input, outputs, order] = GetParam();
  Random random(7);
  for (const std::uint32_t size : micro_batch_sizes) {
    for (const bool add : {false, true}) {
      const MicroBatch batch{.size = size, .count = size};
      const Pass pass{batch, true};
      const auto reference = make_reference_linear(input, outputs);
      const auto fast = make_linear(input, outputs, order);
      const Question question =
          random_question(input, {1, 1, outputs}, (input.size() + 1) * outputs, size, add, random);
      const Answer answer = run(*fast, order, Order::lanes, question, pass);
      expect_same(answer, run(*reference, Order::samples, Order::samples, question, pass));
      // What lies behind the samples would flow into the sums of a convolution before this layer.
      const std::uint64_t places = pass.places(order);
      for (std::uint64_t i = 0; i < answer.raw_d_inputs.size(); ++i) {
        if (order == Order::lanes && i % places >= size) {
          ASSERT_EQ(answer.raw_d_inputs[i], 0) << "padding lane " << i;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(shapes, LinearTest,
                         testing::Values(Case{{1, 1, 7}, 3, Order::samples}, Case{{1, 1, 7}, 3, Order::lanes},
                                         Case{{1, 1, 1}, 1, Order::lanes}, Case{{5, 3, 4}, 9, Order::samples},
                                         Case{{5, 3, 4}, 9, Order::lanes},
                                         Case{{1, 1, 130}, 65, Order::lanes},
                                         Case{{28, 28, 1}, 10, Order::samples}));

TEST(Linear, GivesHandComputedNumbers) {
  // Two samples of three features, two outputs.
  const Question question{{1, 1, 3}, {1, 1, 2}, {1, 2, 3, 4, 5, 6}, {1, 0, 0, 2}, {1, 0, -1, 2, 1, 0, 10, 20},
                          Floats(8), false};
  const MicroBatch batch{.size = 2, .count = 2};
  const Answer answer =
      run(*make_reference_linear({1, 1, 3}, 2), Order::samples, Order::samples, question, {batch, true});
  EXPECT_THAT(answer.outputs, testing::ElementsAre(8, 24, 8, 33));
  EXPECT_THAT(answer.d_inputs, testing::ElementsAre(1, 0, -1, 4, 2, 0));
  EXPECT_THAT(answer.d_parameters, testing::ElementsAre(1, 2, 3, 8, 10, 12, 1, 2));
}

TEST(Linear, ReferenceHasTrueGradients) {
  Random random(8);
  const MicroBatch batch{.size = 4, .count = 4};
  const Question question = random_question({1, 1, 5}, {1, 1, 3}, 18, 4, false, random);
  expect_true_gradients(*make_reference_linear({1, 1, 5}, 3), Order::samples, question, {batch, true});
}

}  // namespace
}  // namespace steelyard::nn
