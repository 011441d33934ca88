#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::attention_test {
namespace {

void expect_right(const Attention& op, Shape in, std::uint32_t size, float far, Random& random) {
  SCOPED_TRACE(testing::Message() << in.width << " tokens, " << in.channels / 3 << " features, " << op.heads
                                  << " heads, causal " << op.causal);
  const MicroBatch batch{.size = size, .count = size};
  Question q = random_question(op, {in}, size, size, false, random);
  for (float& x : q.inputs[0]) x *= far;
  OnDevice ours(q);
  expect_same(run(ours, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true});
}

TEST(CudaAttention, AgreesWithTheReference) {
  Random random(1);
  expect_good_cuda_op(Attention(1, true), {Shape{1, 7, 3 * 10}}, random);
  for (const bool causal : {false, true}) {
    expect_right(Attention(1, causal), {1, 1, 3}, 2, 1, random);
    expect_right(Attention(3, causal), {1, 7, 3 * 3 * 5}, 4, 1, random);
  }
}

// Numbers of tokens around the tiles of 16, 32 and 64, and each kind of head length.
TEST(CudaAttention, SupportsAnyNumberOfTokensAndHeadSize) {
  Random random(2);
  for (const bool causal : {false, true}) {
    using Numbers = std::vector<std::uint32_t>;
    for (const std::uint32_t length : thorough ? Numbers{1, 33, 64, 65, 128} : Numbers{1, 64, 65}) {
      for (const std::uint32_t tokens :
           thorough ? Numbers{9, 16, 17, 32, 33, 64, 65, 84, 130} : Numbers{20, 65}) {
        expect_right(Attention(1, causal), {1, tokens, 3 * length}, 1, 1, random);
      }
    }
    expect_right(Attention(3, causal), {1, 70, 3 * 3 * 20}, 2, 1, random);
  }
}

// Gradients of both ways of backward, added to existing ones, with loads by fours and without.
TEST(CudaAttention, SupportsAllBuffers) {
  Random random(6);
  for (const std::uint32_t length : {8, 10}) {
    for (const std::uint32_t tokens : {20, 70}) {
      const MicroBatch batch{.size = 1, .count = 1};
      const Question q = random_question(Attention(1, true), {{1, tokens, 3 * length}}, 1, 1, false, random);
      OnDevice op(q);
      expect_all_buffers(op, q, {batch, true}, run(*reference_op(q), q, {batch, true}));
    }
  }
}

TEST(CudaAttention, GivesEqualBits) {
  Random random(7);
  const MicroBatch batch{.size = 1, .count = 1};
  for (const std::uint32_t tokens : {20, 70}) {
    const Question q = random_question(Attention(2, true), {{1, tokens, 3 * 16}}, 1, 1, false, random);
    OnDevice op(q);
    const Answer first = run(op, q, {batch, true});
    in_each_schedule([&] {
      const Answer other = run(op, q, {batch, true});
      EXPECT_EQ(other.output, first.output);
      EXPECT_EQ(other.d_inputs, first.d_inputs);
    });
  }
}

// The maximum changes from tile to tile, and the exponentials of such scores exceed float.
TEST(CudaAttention, HandlesLargeScores) {
  Random random(3);
  for (const bool causal : {false, true}) expect_right(Attention(1, causal), {1, 130, 3 * 20}, 1, 12, random);
}

TEST(CudaAttention, RefusesHeadsThatAreTooLong) {
  Random random(4);
  const Question q = random_question(Attention(1, false), {{1, 2, 3 * 129}}, 1, 1, false, random);
  try {
    OnDevice op(q);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), testing::HasSubstr("129 features"));
  }
}

TEST(CudaAttention, EachBarrierIsNeeded) {
  Random random(5);
  expect_needed_barriers("attention_tiles.h",
                         {random_question(Attention(1, false), {{1, 130, 3 * 100}}, 1, 1, false, random),
                          random_question(Attention(1, true), {{1, 40, 3 * 100}}, 1, 1, false, random)},
                         1, 1);
}

}  // namespace
}  // namespace steelyard::nn::cuda::attention_test
