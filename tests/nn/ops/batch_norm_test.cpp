#include <cmath>

#include "nn/op_table.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::batch_norm_test {
namespace {

constexpr std::array tails{FusedTail{}, FusedTail{.add = true}, FusedTail{.relu = true},
                           FusedTail{.add = true, .relu = true}};

// The expected result of the fused op: the reference's batch norm, then a + b, then a ReLU.
class Composed final : public Op {
 public:
  Composed(const OpPlace& place, FusedTail tail)
      : norm_(reference::make(BatchNorm(), place)), size_(place.output.size()), tail_(tail) {}

  void forward(const Pass& pass, const Forward& call) override {
    norm_->forward(pass, call);
    for (std::uint64_t i = 0; i < size_ * pass.size(); ++i) {
      if (tail_.add) call.output[i] += call.inputs[1][i];
      if (tail_.relu) call.output[i] = std::max(0.0F, call.output[i]);
    }
  }
  void backward(const Pass& pass, const Backward& call) override {
    for (std::uint64_t i = 0; i < size_ * pass.size(); ++i) {
      if (tail_.relu && call.output[i] <= 0) call.d_output[i] = 0;
      if (tail_.add) call.d_inputs[1].to[i] = call.d_output[i];
    }
    norm_->backward(pass, call);
  }
  [[nodiscard]] Traits traits() const override { return {.reads_output = true}; }
  [[nodiscard]] std::string implementation() const override { return "composed"; }

 private:
  std::unique_ptr<Op> norm_;
  std::uint64_t size_;
  FusedTail tail_;
};

OpPlace fused_place(Shape shape, FusedTail tail) {
  OpPlace place{.inputs = {shape}, .output = shape};
  if (tail.add) place.inputs.push_back(shape);
  return place;
}

// One channel, two samples and one of padding: mean 2, variance 1.
TEST(BatchNorm, MatchesKnownValues) {
  Random random(1);
  const MicroBatch batch{.size = 4, .count = 2};
  Question q = random_question(BatchNorm(0.0), {{1, 1, 1}}, 4, 2, true, random);
  q.inputs = {{1, 3, 50, 60}};
  q.parameters = {{5}, {7}, {0}, {1}};
  q.d_output = {1, 2, 0, 0};
  q.d_parameters = {{10}, {20}, {30}, {40}};
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const Answer answer = run(*make(q), q, {batch, true});
    EXPECT_FLOAT_EQ(answer.output[0], 2);
    EXPECT_FLOAT_EQ(answer.output[1], 12);
    EXPECT_FLOAT_EQ(answer.d_parameters[0][0], 11);  // 10 + (-1) 1 + 1 2
    EXPECT_FLOAT_EQ(answer.d_parameters[1][0], 23);
    EXPECT_FLOAT_EQ(answer.d_parameters[2][0], 34);  // 30 + 2 samples of mean 2
    EXPECT_FLOAT_EQ(answer.d_parameters[3][0], 44);  // 40 + 2 samples of unbiased variance 2
    EXPECT_NEAR(answer.d_inputs[0][0], 0, 1e-5);     // 5 (1 - 3/2 + 1/2)
    q.add = false;
    EXPECT_FLOAT_EQ(run(*make(q), q, {batch, true}).d_parameters[3][0], 4);
    q.add = true;
    q.parameters[2][0] = 1, q.parameters[3][0] = 4;
    EXPECT_FLOAT_EQ(run(*make(q), q, {batch, false}).output[1], 12);  // (3 - 1) / 2 5 + 7
    q.parameters[2][0] = 0, q.parameters[3][0] = 1;
  }
}

TEST(BatchNorm, ReferenceGradientsMatchFiniteDifferences) {
  Random random(2);
  const MicroBatch batch{.size = 8, .count = 7};
  const Question q = random_question(BatchNorm(), {{2, 3, 3}}, 8, 7, false, random);
  expect_true_gradients(*reference_op(q), q, {batch, true});
}

TEST(BatchNorm, TheCpuAgreesWithTheReference) {
  Random random(3);
  for (const Shape shape : {Shape{3, 3, 1}, Shape{5, 7, 3}, Shape{4, 4, 16}, Shape{3, 5, 17}, Shape{2, 3, 40},
                            Shape{2, 2, 300}, Shape{1, 2, 1100}, Shape{28, 31, 6}}) {
    SCOPED_TRACE(testing::Message() << shape.height << 'x' << shape.width << 'x' << shape.channels);
    expect_good_op(BatchNorm(), {shape}, random);
  }
}

TEST(BatchNorm, WithATailMatchesThreeSeparateOps) {
  Random random(4);
  for (const FusedTail tail : tails) {
    for (const Shape shape : {Shape{5, 7, 3}, Shape{3, 3, 19}, Shape{4, 4, 64}}) {
      SCOPED_TRACE(testing::Message()
                   << "add " << tail.add << ", relu " << tail.relu << ", channels " << shape.channels);
      const OpPlace place = fused_place(shape, tail);
      Composed composed(place, tail);
      expect_same_op(*cpu::make_batch_norm(BatchNorm(), place, tail), composed, BatchNorm(), place, random);
    }
  }
}

// Backward of a ReLU needs the output, but never the values of the residual.
TEST(BatchNorm, KeepsOnlyWhatItsTailNeeds) {
  for (const FusedTail tail : tails) {
    const Traits traits = cpu::make_batch_norm(BatchNorm(), fused_place({2, 2, 3}, tail), tail)->traits();
    EXPECT_FALSE(traits.in_place);
    EXPECT_TRUE(traits.reads_inputs);
    EXPECT_EQ(traits.reads_output, tail.relu);
  }
}

// Squares of numbers around 1000 leave few digits for a variance of 1e-2; the variance must still be right.
TEST(BatchNorm, ALargeMeanKeepsTheVariancePrecise) {
  Random random(5);
  const MicroBatch batch{.size = 32, .count = 32};
  Question q = random_question(BatchNorm(), {{16, 16, 5}}, 32, 32, false, random);
  for (float& x : q.inputs[0]) x = 1000.0F + 0.1F * x;
  const Answer expected = run(*reference_op(q), q, {batch, true}), ours = run(*cpu_op(q), q, {batch, true});
  for (std::size_t c = 0; c < 5; ++c) {
    EXPECT_NEAR(ours.d_parameters[3][c] / expected.d_parameters[3][c], 1, 1e-5);
    EXPECT_NEAR(ours.d_parameters[2][c] / expected.d_parameters[2][c], 1, 1e-6);
  }
}

// Values in padded samples, however large, change nothing.
TEST(BatchNorm, PaddingDoesNotAffectSums) {
  Random random(6);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(BatchNorm(), {{3, 3, 7}}, 4, 3, false, random);
  Question far = q;
  for (std::size_t i = 3 * 63; i < far.inputs[0].size(); ++i) far.inputs[0][i] = 1e6F;
  for (const auto& make : {reference_op, +[](const Question& one) { return cpu_op(one); }}) {
    const std::unique_ptr<Op> op = make(q);
    expect_same(run(*op, far, {batch, true}), run(*op, q, {batch, true}), q, {batch, true}, 0);
  }
}

// With a single place there is no unbiased variance, and no result may become infinite.
TEST(BatchNorm, ASinglePlaceHasVarianceZero) {
  Random random(7);
  const MicroBatch batch{.size = 1, .count = 1};
  const Question q = random_question(BatchNorm(), {{1, 1, 3}}, 1, 1, false, random);
  const Answer answer = run(*cpu_op(q), q, {batch, true});
  expect_near(answer.output, q.parameters[1], "output", 1e-6F);
  expect_near(answer.d_parameters[3], {0, 0, 0}, "variance", 0);
  expect_near(answer.d_inputs[0], {0, 0, 0}, "gradient of the input", 1e-4F);
}

}  // namespace
}  // namespace steelyard::nn::batch_norm_test
