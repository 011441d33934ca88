#include "nn/layers/conv2d.h"

#include "core/level.h"
#include "nn/layers/relu.h"
#include "tests/nn/op_run.h"

namespace steelyard::nn {
namespace {

struct Case {
  Shape input;
  Conv2d options;

  [[nodiscard]] Shape output() const {
    return {(input.height + 2 * options.padding - options.kernel) / options.stride + 1,
            (input.width + 2 * options.padding - options.kernel) / options.stride + 1, options.channels};
  }
  [[nodiscard]] std::uint64_t parameters() const {
    return std::uint64_t{options.channels} * (options.kernel * options.kernel * input.channels + 1);
  }
};

void expect_equals_reference(Op& op, Order order, const Case& c, Random& random) {
  for (const std::uint32_t size : micro_batch_sizes) {
    const MicroBatch batch{.size = size, .count = size};
    const Pass pass{batch, true};
    const bool add = size % 3 == 1;
    const Question question = random_question(c.input, c.output(), c.parameters(), size, add, random);
    const auto reference = make_reference_conv2d(c.input, c.output(), c.options);
    expect_same(run(op, order, order, question, pass),
                run(*reference, Order::samples, Order::samples, question, pass));
  }
}

TEST(Conv2d, DirectEqualsTheReference) {
  Random random(1);
  for (const Case& c :
       {Case{{6, 7, 1}, {4, 3, 1, 1}}, Case{{9, 8, 3}, {5, 5, 1, 0}}, Case{{5, 5, 7}, {2, 1, 1, 0}},
        Case{{4, 4, 2}, {1, 4, 1, 3}}, Case{{14, 14, 6}, {16, 5, 1, 0}}}) {
    expect_equals_reference(*make_direct_conv2d(c.input, c.output(), c.options, FusedRelu::no), Order::lanes,
                            c, random);
  }
}

TEST(Conv2d, OnednnEqualsTheReference) {
  Random random(2);
  for (const Case& c :
       {Case{{6, 7, 8}, {4, 3, 1, 1}}, Case{{9, 8, 16}, {32, 3, 2, 1}}, Case{{5, 5, 12}, {7, 1, 1, 0}},
        Case{{11, 11, 3}, {8, 5, 2, 2}}, Case{{6, 6, 1}, {3, 2, 2, 0}}}) {
    expect_equals_reference(*make_onednn_conv2d(c.input, c.output(), c.options), Order::samples, c, random);
  }
}

TEST(Conv2d, OnednnNeverFallsBackToItsReference) {
  if (cpu_level() == Level::baseline) GTEST_SKIP() << "oneDNN has no fast convolutions below AVX2";
  for (const Case& c : {Case{{32, 32, 8}, {16, 3, 1, 1}}, Case{{32, 32, 16}, {16, 3, 1, 1}},
                        Case{{16, 16, 32}, {64, 3, 2, 1}}, Case{{14, 14, 12}, {7, 5, 1, 0}},
                        Case{{28, 28, 1}, {6, 5, 2, 2}}, Case{{32, 32, 3}, {64, 7, 2, 3}}}) {
    EXPECT_THAT(make_onednn_conv2d(c.input, c.output(), c.options)->implementation(),
                testing::Not(testing::HasSubstr("ref")));
  }
}

// A convolution with its ReLU inside against the two ops one behind the other.
TEST(Conv2d, FusedReluEqualsTwoOps) {
  Random random(3);
  const Case c{{8, 8, 2}, {6, 3, 1, 1}};
  const MicroBatch batch{.size = 16, .count = 16};
  const Pass pass{batch, true};
  Question question = random_question(c.input, c.output(), c.parameters(), 16, false, random);

  const auto fused = make_direct_conv2d(c.input, c.output(), c.options, FusedRelu::yes);
  const Answer answer = run(*fused, Order::lanes, Order::lanes, question, pass);

  const auto reference = make_reference_conv2d(c.input, c.output(), c.options);
  const auto relu = make_reference_relu(c.output());
  Question relu_question{c.output(), c.output(), {}, question.d_outputs, {}, {}, false};
  relu_question.inputs = run(*reference, Order::samples, Order::samples, question, pass).outputs;
  const Answer relu_answer = run(*relu, Order::samples, Order::samples, relu_question, pass);
  question.d_outputs = relu_answer.d_inputs;
  Answer expected = run(*reference, Order::samples, Order::samples, question, pass);
  expected.outputs = relu_answer.outputs;
  expect_same(answer, expected);
}

TEST(Conv2d, GivesHandComputedNumbers) {
  // A 2 x 2 picture, a 2 x 2 kernel, padding 1, stride 2: the four corners of the kernel meet one pixel each.
  const Question question{{2, 2, 1},           {2, 2, 1}, {1, 2, 3, 4}, {1, 1, 1, 1},
                          {10, 20, 30, 40, 5}, Floats(5), false};
  const MicroBatch batch{.size = 1, .count = 1};
  const auto op = make_reference_conv2d({2, 2, 1}, {2, 2, 1}, {1, 2, 2, 1});
  const Answer answer = run(*op, Order::samples, Order::samples, question, {batch, true});
  EXPECT_THAT(answer.outputs, testing::ElementsAre(45, 65, 65, 45));
  EXPECT_THAT(answer.d_inputs, testing::ElementsAre(40, 30, 20, 10));
  EXPECT_THAT(answer.d_parameters, testing::ElementsAre(4, 3, 2, 1, 4));
}

TEST(Conv2d, ReferenceHasTrueGradients) {
  Random random(4);
  const Case c{{5, 4, 2}, {3, 3, 2, 1}};
  const MicroBatch batch{.size = 2, .count = 2};
  const Question question = random_question(c.input, c.output(), c.parameters(), 2, false, random);
  expect_true_gradients(*make_reference_conv2d(c.input, c.output(), c.options), Order::samples, question,
                        {batch, true});
}

}  // namespace
}  // namespace steelyard::nn
