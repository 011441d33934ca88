#include "nn/cpu/onednn.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::token_linear_test {
namespace {

using testing::ElementsAre;

TEST(TokenLinear, GivesHandComputedNumbers) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(1);
  Question q = random_question(TokenLinear{.outputs = 1}, {{1, 2, 2}}, 1, 1, true, random);
  q.inputs[0] = {1, 2, 3, 4};
  q.parameters = {{10, 100}, {5}};
  q.d_parameters = {{1000, 1000}, {1000}};
  q.d_output = {1, 2};
  for (Op* op : {reference_op(q).release(), cpu_op(q).release()}) {
    const std::unique_ptr<Op> owner(op);
    const Answer answer = run(*op, q, {batch, true});
    EXPECT_THAT(answer.output, ElementsAre(215, 435));
    EXPECT_THAT(answer.d_inputs[0], ElementsAre(10, 100, 20, 200));
    EXPECT_THAT(answer.d_parameters[0], ElementsAre(1007, 1010));
    EXPECT_THAT(answer.d_parameters[1], ElementsAre(1003));
  }
}

TEST(TokenLinear, TheReferenceHasTrueGradients) {
  Random random(2);
  const MicroBatch batch{.size = 2, .count = 1};
  for (const bool bias : {false, true}) {
    const Question q =
        random_question(TokenLinear{.outputs = 4, .bias = bias}, {{2, 3, 5}}, 2, 1, false, random);
    expect_true_gradients(*reference_op(q), q, {batch, true});
  }
}

TEST(TokenLinear, TheCpuGivesWhatTheReferenceGives) {
  Random random(3);
  onednn::use_this_thread_only();
  for (const Shape input : {Shape{1, 1, 1}, Shape{1, 17, 33}, Shape{3, 5, 16}, Shape{1, 9, 40}}) {
    for (const std::uint32_t outputs : {1U, 7U, 150U}) {
      SCOPED_TRACE(testing::Message() << input.channels << " to " << outputs);
      expect_good_op(TokenLinear{.outputs = outputs, .bias = outputs != 7}, {input}, random);
    }
  }
}

TEST(TokenLinear, InBf16) {
  Random random(4);
  for (const bool add : {false, true}) {
    expect_same_in_bf16(TokenLinear{.outputs = 150}, {{1, 17, 33}}, 4, 3, add, random);
    expect_same_in_bf16(TokenLinear{.outputs = 32, .bias = false}, {{3, 5, 64}}, 32, 32, add, random);
  }
}

}  // namespace
}  // namespace steelyard::nn::token_linear_test
