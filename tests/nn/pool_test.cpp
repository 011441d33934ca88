#include <numeric>

#include "nn/layers/average_pool.h"
#include "nn/layers/max_pool.h"
#include "tests/nn/op_run.h"

namespace steelyard::nn {
namespace {

constexpr Shape pooled(Shape input, std::uint32_t size) {
  return {input.height / size, input.width / size, input.channels};
}

// Numbers that are all different and far apart, in random order: no window has two greatest.
Floats spread_out(std::uint64_t size, Random& random) {
  Floats values(size);
  std::iota(values.begin(), values.end(), -0.5F * static_cast<float>(size));
  for (std::uint64_t i = size; i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
  return values;
}

TEST(MaxPool, GivesHandComputedNumbersAndTheFirstOfEqualsWins) {
  // 3 x 4 with windows of 2: the third row fills no window.
  const Question question{{3, 4, 1}, {1, 2, 1}, {1, 5, 7, 7, 3, 2, 7, 0, 9, 9, 9, 9}, {10, 20}, {},
                          {},        false};
  const MicroBatch batch{.size = 1, .count = 1};
  for (const Order order : {Order::samples, Order::lanes}) {
    const Answer answer = run(*make_max_pool({3, 4, 1}, 2, order), order, order, question, {batch, true});
    EXPECT_THAT(answer.outputs, testing::ElementsAre(5, 7));
    EXPECT_THAT(answer.d_inputs, testing::ElementsAre(0, 10, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  }
}

TEST(AveragePool, GivesHandComputedNumbers) {
  const Question question{{2, 5, 1}, {1, 2, 1}, {1, 2, 3, 4, 9, 5, 6, 7, 8, 9}, {4, 8}, {}, {}, false};
  const MicroBatch batch{.size = 1, .count = 1};
  for (const Order order : {Order::samples, Order::lanes}) {
    const Answer answer = run(*make_average_pool({2, 5, 1}, 2, order), order, order, question, {batch, true});
    EXPECT_THAT(answer.outputs, testing::ElementsAre(3.5, 5.5));
    EXPECT_THAT(answer.d_inputs, testing::ElementsAre(1, 1, 2, 2, 0, 1, 1, 2, 2, 0));
  }
}

TEST(Pools, GiveTheSameInLanesAsInSamples) {
  Random random(5);
  for (const Shape input : {Shape{4, 4, 1}, Shape{7, 5, 3}, Shape{6, 9, 8}}) {
    for (const std::uint32_t window : {1U, 2U, 3U}) {
      for (const std::uint32_t size : micro_batch_sizes) {
        const MicroBatch batch{.size = size, .count = size};
        const Pass pass{batch, true};
        const Question question = random_question(input, pooled(input, window), 0, size, false, random);
        expect_same(
            run(*make_max_pool(input, window, Order::lanes), Order::lanes, Order::lanes, question, pass),
            run(*make_max_pool(input, window, Order::samples), Order::samples, Order::samples, question,
                pass));
        expect_same(
            run(*make_average_pool(input, window, Order::lanes), Order::lanes, Order::lanes, question, pass),
            run(*make_average_pool(input, window, Order::samples), Order::samples, Order::samples, question,
                pass));
      }
    }
  }
}

TEST(Pools, HaveTrueGradients) {
  Random random(6);
  const Shape input{5, 4, 3};
  const MicroBatch batch{.size = 2, .count = 2};
  Question question = random_question(input, pooled(input, 2), 0, 2, false, random);
  question.inputs = spread_out(question.inputs.size(), random);
  expect_true_gradients(*make_max_pool(input, 2, Order::samples), Order::samples, question, {batch, true},
                        0.25F);
  expect_true_gradients(*make_average_pool(input, 2, Order::samples), Order::samples, question, {batch, true},
                        0.25F);
}

TEST(MaxPool, DoesTheBackwardOfAReluBeforeIt) {
  Random random(7);
  const Shape input{4, 6, 2};
  const MicroBatch batch{.size = 8, .count = 8};
  const Pass pass{batch, true};
  Question question = random_question(input, pooled(input, 2), 0, 8, false, random);
  for (float& value : question.inputs) value = std::max(value, 0.0F);  // as a ReLU leaves them

  const Answer fused =
      run(*make_max_pool(input, 2, Order::lanes, true), Order::lanes, Order::lanes, question, pass);
  const Answer pool =
      run(*make_max_pool(input, 2, Order::samples), Order::samples, Order::samples, question, pass);
  Floats expected = pool.d_inputs;
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] *= question.inputs[i] > 0 ? 1.0F : 0.0F;
  expect_near(fused.outputs, pool.outputs, "output", 0);
  expect_near(fused.d_inputs, expected, "gradient", 0);
}

}  // namespace
}  // namespace steelyard::nn
