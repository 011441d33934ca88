#include "nn/op_table.h"

#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::conv2d_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(Conv2d, MatchesHandComputedNumbers) {
  const MicroBatch batch{.size = 1, .count = 1};
  const Pass pass{batch, true};
  Random random(1);
  // One row of three pixels with two channels; a kernel of two pixels.
  Question q = random_question(Conv2d{.channels = 1, .kernel = {1, 2}}, {{1, 3, 2}}, 1, 1, false, random);
  q.inputs = {{1, 10, 2, 20, 3, 30}};
  q.parameters = {{1, 2, 0.1F, 0.2F}, {1000}};  // [out][in][row][column]
  q.d_output = {1, 100};
  for (const auto& op : {reference_op(q), cpu_op(q)}) {
    const Answer answer = run(*op, q, pass);
    EXPECT_THAT(answer.output, ElementsAre(1 + 4 + 1 + 4 + 1000, 2 + 6 + 2 + 6 + 1000));
    EXPECT_THAT(answer.d_parameters[0], ElementsAre(201, 302, 2010, 3020));
    EXPECT_THAT(answer.d_parameters[1], ElementsAre(101));
    EXPECT_THAT(answer.d_inputs[0], ElementsAre(1, 0.1F, 102, 10.2F, 200, 20));
  }
}

std::vector<Conv2d> convolutions(std::uint32_t in) {
  std::vector<Conv2d> all{{.channels = 5, .kernel = 3, .padding = 1},
                          {.channels = 8, .kernel = 1, .bias = false},
                          {.channels = 7, .kernel = 3, .stride = 2, .padding = 1},
                          {.channels = 4, .kernel = {1, 5}, .padding = {0, 2}},
                          {.channels = in, .kernel = 3, .padding = 1, .groups = in, .bias = false},
                          {.channels = in, .kernel = 5, .stride = 2, .padding = 2, .groups = in}};
  return all;
}

TEST(Conv2d, ReferenceGradientsMatchFiniteDifferences) {
  Random random(2);
  for (const Conv2d& options : convolutions(4)) {
    const MicroBatch batch{.size = 2, .count = 2};
    const Pass pass{batch, true};
    const Question q = random_question(options, {{5, 6, 4}}, 2, 2, false, random);
    expect_true_gradients(*reference_op(q), q, pass);
  }
}

TEST(Conv2d, TheCpuMatchesTheReference) {
  Random random(3);
  for (const std::uint32_t in : {3U, 8U, 12U, 32U}) {
    for (const Conv2d& options : convolutions(in)) {
      SCOPED_TRACE(testing::Message()
                   << in << " to " << options.channels << ", " << options.groups << " groups");
      expect_good_op(options, {{7, 6, in}}, random);
    }
  }
}

TEST(Conv2d, DirectKernelsMatchTheReference) {
  Random random(4);
  for (const std::uint32_t in : {1U, 3U, 7U}) {
    for (const Conv2d& options : {Conv2d{.channels = 6, .kernel = 5, .padding = 2},
                                  Conv2d{.channels = 16, .kernel = 3, .padding = 1, .bias = false}}) {
      for (const std::uint32_t size : micro_batch_sizes) {
        const MicroBatch batch{.size = size, .count = size};
        const Pass pass{batch, true};
        const Question q = random_question(options, {{8, 9, in}}, size, size, size % 2 == 0, random);
        ASSERT_TRUE(cpu::suits_direct(options, {8, 9, in}));
        const Answer expected = run(*reference_op(q), q, pass);
        expect_same(run(*cpu_op(q, Order::lanes), q, pass, Order::lanes, Order::lanes), expected, q, pass);
      }
    }
  }
}

// Without a suitable kernel, oneDNN falls back to its own reference, which is twenty times slower.
TEST(Conv2d, NeverUsesTheReferenceOfOnednn) {
  Random random(5);
  for (const std::uint32_t in : {8U, 16U, 24U, 58U, 64U, 116U}) {
    for (const Conv2d& options : convolutions(in)) {
      const Question q = random_question(options, {{14, 14, in}}, 32, 32, false, random);
      EXPECT_THAT(cpu_op(q)->implementation(), Not(HasSubstr("ref"))) << in << " to " << options.channels;
    }
  }
}

TEST(Conv2d, SupportsBf16) {
  Random random(6);
  for (const bool add : {false, true}) {
    for (const std::uint32_t stride : {1U, 2U}) {
      const Conv2d options{.channels = 48, .kernel = 3, .stride = stride, .padding = 1};
      expect_same_in_bf16(options, {{5, 5, 16}}, 8, 5, add, random);  // too small for Winograd's method
      expect_same_in_bf16(Conv2d{.channels = 33, .kernel = 1, .stride = stride, .bias = false}, {{6, 7, 40}},
                          32, 32, add, random);
    }
  }
}

TEST(Conv2d, UsesFloat32ForFewChannelsOrGroups) {
  Random random(7);
  for (const std::uint32_t in : {3U, 32U}) {
    const Conv2d options{.channels = 32, .kernel = 3, .padding = 1, .groups = in == 3 ? 1U : 32U};
    Question q = random_question(options, {{14, 14, in}}, 32, 32, false, random);
    q.place.precision = Precision::bf16;
    EXPECT_THAT(cpu_op(q)->implementation(), Not(HasSubstr("bf16")));
  }
}

}  // namespace
}  // namespace steelyard::nn::conv2d_test
