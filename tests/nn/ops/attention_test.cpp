#include "nn/cpu/kernel_calls.h"

#include <cmath>

#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::attention_test {
namespace {

using testing::ElementsAre;
using testing::FloatNear;

// Two tokens, one head of one feature. Scores of token 0: 0 and 0; of token 1: 0 and log 3.
TEST(Attention, MatchesHandComputedNumbers) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(1);
  for (const bool causal : {false, true}) {
    Question q = random_question(Attention(1, causal), {{1, 2, 3}}, 1, 1, false, random);
    q.inputs[0] = {0, 0, 8, 1, std::log(3.0F), 16};  // q, k, v of each token
    q.d_output = {0, 1};
    for (Op* op : {reference_op(q).release(), cpu_op(q).release()}) {
      const std::unique_ptr<Op> owner(op);
      const Answer answer = run(*op, q, {batch, true});
      EXPECT_THAT(answer.output, ElementsAre(FloatNear(causal ? 8 : 12, 1e-5F), FloatNear(14, 1e-5F)));
      // Only token 1 has a gradient, in both cases: its probabilities are 1/4 and 3/4, the scores' gradients
      // 1/4 * (8 - 14) and 3/4 * (16 - 14).
      EXPECT_THAT(answer.d_inputs[0],
                  ElementsAre(FloatNear(0, 1e-5F), FloatNear(-1.5F, 1e-5F), FloatNear(0.25F, 1e-5F),
                              FloatNear(1.5F * std::log(3.0F), 1e-5F), FloatNear(1.5F, 1e-5F),
                              FloatNear(0.75F, 1e-5F)));
    }
  }
}

TEST(Attention, ReferenceGradientsMatchFiniteDifferences) {
  Random random(2);
  const MicroBatch batch{.size = 2, .count = 1};
  for (const bool causal : {false, true}) {
    const Question q = random_question(Attention(2, causal), {{1, 5, 18}}, 2, 1, false, random);
    expect_true_gradients(*reference_op(q), q, {batch, true});
  }
}

TEST(Attention, TheCpuMatchesTheReference) {
  Random random(3);
  struct Case {
    std::uint32_t heads, tokens, length;
  };
  for (const Case& one : {Case{1, 1, 1}, Case{3, 17, 5}, Case{2, 16, 16}, Case{1, 33, 32}, Case{2, 9, 40}}) {
    for (const bool causal : {false, true}) {
      SCOPED_TRACE(testing::Message() << one.heads << " heads of " << one.length << ", " << one.tokens
                                      << " tokens" << (causal ? ", causal" : ""));
      expect_good_op(Attention(one.heads, causal), {{1, one.tokens, 3 * one.heads * one.length}}, random);
    }
  }
}

TEST(Attention, EveryLevelMatchesTheReference) {
  Random random(4);
  const MicroBatch batch{.size = 1, .count = 1};
  for (const std::uint32_t length : {16U, 11U}) {
    Question q = random_question(Attention(2, true), {{1, 21, 6 * length}}, 1, 1, false, random);
    const Answer expected = run(*reference_op(q), q, {batch, true});
    const AttentionShape shape{21, 2, length, true, 1 / std::sqrt(static_cast<float>(length))};
    for (const Level level : {Level::baseline, Level::v3, Level::v4}) {
      if (level > cpu_level()) continue;
      SCOPED_TRACE(name(level));
      Floats output(q.d_output.size(), NAN), d_input(q.inputs[0].size(), NAN);
      Floats scratch(cpu::attention_scratch(shape), NAN);
      const AttentionTable& kernels = cpu::attention_kernels(level);
      kernels.forward(shape, q.inputs[0].data(), output.data(), scratch.data());
      kernels.backward(shape, q.inputs[0].data(), q.d_output.data(), false, d_input.data(), scratch.data());
      expect_near(output, expected.output, "output");
      expect_near(d_input, expected.d_inputs[0], "gradient");
    }
  }
}

// Widely different scores do not overflow, and a later token is masked, however high its score.
TEST(Attention, LargeScoresSelectOneToken) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(5);
  Question q = random_question(Attention(1, true), {{1, 3, 3}}, 1, 1, false, random);
  q.inputs[0] = {1000, 1000, 1, 1000, -1000, 2, 1000, 2000, 3};
  EXPECT_THAT(run(*cpu_op(q), q, {batch, false}).output, ElementsAre(1, 1, 3));
}

}  // namespace
}  // namespace steelyard::nn::attention_test
