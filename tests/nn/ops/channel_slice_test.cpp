#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::channel_slice_test {
namespace {

TEST(ChannelSlice, KnownAnswer) {
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  Question q = random_question(ChannelSlice(1, 3), {{1, 2, 4}}, 1, 1, false, random);
  q.inputs = {{1, 2, 3, 4, 10, 20, 30, 40}};
  q.d_output = {5, 6, 7, 8};
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const Answer answer = run(*make(q), q, {batch, true});
    EXPECT_EQ(answer.output, (Floats{2, 3, 20, 30}));
    EXPECT_EQ(answer.d_inputs[0], (Floats{0, 5, 6, 0, 0, 7, 8, 0}));
  }
}

TEST(ChannelSlice, TheReferenceHasTrueGradients) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(ChannelSlice(1, 4), {{2, 3, 6}}, 4, 3, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(ChannelSlice, TheCpuAgreesWithTheReference) {
  Random random(3);
  for (const std::uint32_t channels : {1U, 5U, 38U}) {
    for (const std::uint32_t begin : {0U, channels / 2, channels - 1}) {
      for (const std::uint32_t end : {begin + 1, channels}) {
        SCOPED_TRACE(testing::Message() << begin << " to " << end << " of " << channels);
        expect_good_op(ChannelSlice(begin, end), {{3, 5, channels}}, random, 0);
      }
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::channel_slice_test
