#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::dropout_test {
namespace {

// To the bit: a network that moves from one kind of device to another draws the same masks.
TEST(CudaDropout, DrawsWhatTheCpuDraws) {
  Random random(1);
  const std::vector<std::uint64_t> positions{5, 800, 3, 1ULL << 40};
  for (const Shape shape :
       {Shape{1, 1, 1}, Shape{5, 3, 7}, Shape{1, 9, 600}, Shape{2, 1, 22}, Shape{9, 80, 100}}) {
    if (!thorough && shape.size() > 6000) continue;  // these have several fours for a thread already
    for (const double probability : {0.0, 0.4, 0.9}) {
      SCOPED_TRACE(testing::Message() << shape.size() << " features, " << probability);
      const MicroBatch batch{
          .positions = positions.data(), .size = 4, .count = 3, .seed = 7, .epoch = 1ULL << 35};
      Question q = random_question(Dropout(probability), {shape}, 4, 3, false, random);
      q.place.key = 11;
      OnDevice op(q);
      const Answer expected = run(*reference_op(q), q, {batch, true});
      in_each_schedule([&] {
        const Answer answer = run(op, q, {batch, true});
        EXPECT_EQ(answer.output, expected.output);
        EXPECT_EQ(answer.d_inputs, expected.d_inputs);
      });
      expect_all_buffers(op, q, {batch, true}, expected, 1e-6F);
      EXPECT_EQ(run(op, q, {batch, false}).output, q.inputs[0]) << "in evaluation";
    }
  }
}

TEST(CudaDropout, OfAnotherRoundIsAnotherMask) {
  Random random(2);
  const std::vector<std::uint64_t> positions{5, 800}, others{6, 800};
  const MicroBatch batch{.positions = positions.data(), .size = 2, .count = 2, .seed = 7, .epoch = 3};
  const Question q = random_question(Dropout(0.5), {{1, 1, 100}}, 2, 2, false, random);
  OnDevice op(q);
  const auto output = [&](const MicroBatch& of) { return run(op, q, {of, true}).output; };
  const Floats first = output(batch);
  MicroBatch other = batch;
  other.epoch = 4;
  EXPECT_NE(output(other), first);
  other = batch;
  other.seed = 8;
  EXPECT_NE(output(other), first);
  other = batch;
  other.positions = others.data();
  EXPECT_NE(output(other), first);
  EXPECT_EQ(output(batch), first);
}

}  // namespace
}  // namespace steelyard::nn::cuda::dropout_test
