#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::channel_shuffle_test {
namespace {

TEST(ChannelShuffle, KnownAnswer) {
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  Question q = random_question(ChannelShuffle(2), {{1, 2, 6}}, 1, 1, false, random);
  q.inputs = {{1, 2, 3, 4, 5, 6, 10, 20, 30, 40, 50, 60}};
  q.d_output = q.inputs[0];
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const Answer answer = run(*make(q), q, {batch, true});
    EXPECT_EQ(answer.output, (Floats{1, 4, 2, 5, 3, 6, 10, 40, 20, 50, 30, 60}));
    EXPECT_EQ(answer.d_inputs[0], (Floats{1, 3, 5, 2, 4, 6, 10, 30, 50, 20, 40, 60}));
  }
}

TEST(ChannelShuffle, TheReferenceHasTrueGradients) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(ChannelShuffle(3), {{2, 3, 6}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(ChannelShuffle, TheCpuAgreesWithTheReference) {
  Random random(3);
  for (const std::uint32_t groups : {1U, 2U, 3U, 4U, 5U, 8U}) {
    for (const std::uint32_t length : {1U, 2U, 3U, 4U, 7U, 29U}) {
      SCOPED_TRACE(testing::Message() << groups << " groups of " << length);
      expect_good_op(ChannelShuffle(groups), {{3, 5, groups * length}}, random, 0);
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::channel_shuffle_test
