#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::batch_norm_test {
namespace {

constexpr std::array tails{FusedTail{}, FusedTail{.add = true}, FusedTail{.relu = true},
                           FusedTail{.add = true, .relu = true}};

// The expected result: the reference's batch norm of each group of `grain` samples, then a + b, then a ReLU.
class Composed final : public Op {
 public:
  Composed(const OpPlace& place, FusedTail tail, std::uint32_t grain)
      : place_(place), grain_(grain), tail_(tail) {}

  void forward(const Pass& pass, const Forward& call) override {
    norms_.clear();
    const std::uint64_t sample = place_.output.size();
    each_group(pass, [&](const Pass& group, std::uint64_t begin) {
      const std::vector<const float*> inputs{call.inputs[0] + begin};
      norms_.push_back(reference::make(BatchNorm(), place_));
      norms_.back()->forward(group, {inputs, call.parameters, call.output + begin, nullptr});
    });
    for (std::uint64_t i = 0; i < sample * pass.size(); ++i) {
      if (tail_.add) call.output[i] += call.inputs[1][i];
      if (tail_.relu) call.output[i] = std::max(0.0F, call.output[i]);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    for (std::uint64_t i = 0; i < place_.output.size() * pass.size(); ++i) {
      if (tail_.relu && call.output[i] <= 0) call.d_output[i] = 0;
      if (tail_.add) call.d_inputs[1].to[i] = call.d_output[i];
    }
    std::size_t next = 0;
    each_group(pass, [&](const Pass& group, std::uint64_t begin) {
      const std::vector<const float*> inputs{call.inputs[0] + begin};
      const std::vector<InputGradient> to{{call.d_inputs[0].to + begin}};
      norms_[next]->backward(group, {inputs, call.parameters, nullptr, call.d_output + begin, to,
                                     call.d_parameters, call.add || next > 0, nullptr});
      ++next;
    });
  }
  [[nodiscard]] Traits traits() const override { return {.reads_output = true}; }
  [[nodiscard]] std::string implementation() const override { return "composed"; }

 private:
  template <class Visit>
  void each_group(const Pass& pass, Visit visit) const {
    const std::uint32_t grain = grain_ == 0 ? pass.size() : std::min(grain_, pass.size());
    for (std::uint32_t begin = 0; begin < pass.size(); begin += grain) {
      const std::uint32_t real = pass.batch.count > begin ? pass.batch.count - begin : 0;
      const MicroBatch batch{.size = grain, .count = std::min(real, grain)};
      visit({batch, pass.training}, begin * place_.output.size());
    }
  }

  OpPlace place_;
  std::uint32_t grain_;
  FusedTail tail_;
  std::vector<std::unique_ptr<Op>> norms_;
};

OpPlace fused_place(Shape shape, FusedTail tail) {
  OpPlace place{.inputs = {shape}, .output = shape};
  if (tail.add) place.inputs.push_back(shape);
  return place;
}

// The four parameters have `channels` numbers each.
std::unique_ptr<OnDevice> fused(const OpPlace& place, FusedTail tail, std::uint32_t grain) {
  return std::make_unique<OnDevice>(
      [=](const OpPlace& where, const Context& context) {
        return make_batch_norm(BatchNorm(), where, tail, context);
      },
      place, std::vector<std::uint64_t>(4, place.output.channels), grain);
}

TEST(CudaBatchNorm, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape : {Shape{3, 3, 1}, Shape{5, 7, 3}, Shape{4, 4, 16}, Shape{3, 5, 17}, Shape{2, 3, 40},
                            Shape{1, 1, 70}, Shape{17, 19, 6}}) {
    SCOPED_TRACE(testing::Message() << shape.height << 'x' << shape.width << 'x' << shape.channels);
    expect_good_cuda_op(BatchNorm(), {shape}, random);
  }
}

TEST(CudaBatchNorm, WithATailAndGroupsMatchesThreeOpsPerGroup) {
  Random random(2);
  for (const FusedTail tail : tails) {
    for (const std::uint32_t grain : {0, 4, 8}) {
      for (const Shape shape : {Shape{3, 5, 3}, Shape{3, 3, 20}}) {
        if (!thorough && (grain == 8 || (shape.channels == 20) != tail.relu)) continue;
        SCOPED_TRACE(testing::Message() << "add " << tail.add << ", relu " << tail.relu << ", grain " << grain
                                        << ", channels " << shape.channels);
        const OpPlace place = fused_place(shape, tail);
        Composed composed(place, tail, grain);
        expect_same_op(*fused(place, tail, grain), composed, BatchNorm(), place, random);
      }
    }
  }
}

// Groups that are full, partial, of one sample, and empty.
TEST(CudaBatchNorm, SupportsAnyNumberOfRealSamples) {
  Random random(3);
  const FusedTail tail{.relu = true};
  const OpPlace place = fused_place({2, 3, 5}, tail);
  for (const std::uint32_t grain : {4, 8}) {
    Composed composed(place, tail, grain);
    const auto op = fused(place, tail, grain);
    for (std::uint32_t count = 1; count <= 32; count += thorough ? 1 : 4) {
      SCOPED_TRACE(testing::Message() << "grain " << grain << ", count " << count);
      const std::uint32_t size = count <= 16 ? 16 : 32;
      const MicroBatch batch{.size = size, .count = count};
      const Question q = random_question(BatchNorm(), {{2, 3, 5}}, size, count, true, random);
      expect_same(run(*op, q, {batch, true}), run(composed, q, {batch, true}), q, {batch, true});
    }
  }
}

TEST(CudaBatchNorm, ASinglePlaceHasVarianceZero) {
  Random random(4);
  const MicroBatch batch{.size = 1, .count = 1};
  const Question q = random_question(BatchNorm(), {{1, 1, 3}}, 1, 1, false, random);
  OnDevice op(q);
  const Answer answer = run(op, q, {batch, true});
  expect_near(answer.output, q.parameters[1], "output", 1e-6F);
  expect_near(answer.d_parameters[3], {0, 0, 0}, "variance", 0);
  expect_near(answer.d_inputs[0], {0, 0, 0}, "gradient of the input", 1e-4F);
}

// Squares of numbers around 1000 leave few digits for a variance of 1e-2; the variance must still be right.
TEST(CudaBatchNorm, ALargeMeanKeepsTheVariancePrecise) {
  Random random(5);
  const MicroBatch batch{.size = 16, .count = 16};
  Question q = random_question(BatchNorm(), {{8, 8, 5}}, 16, 16, false, random);
  for (float& x : q.inputs[0]) x = 1000.0F + 0.1F * x;
  OnDevice op(q);
  const Answer expected = run(*reference_op(q), q, {batch, true}), ours = run(op, q, {batch, true});
  for (std::size_t c = 0; c < 5; ++c) {
    EXPECT_NEAR(ours.d_parameters[3][c] / expected.d_parameters[3][c], 1, 1e-5);
    EXPECT_NEAR(ours.d_parameters[2][c] / expected.d_parameters[2][c], 1, 1e-6);
  }
}

// Values in padded samples, however large, change nothing.
TEST(CudaBatchNorm, PaddingDoesNotAffectSums) {
  Random random(6);
  const MicroBatch batch{.size = 4, .count = 3};
  const Question q = random_question(BatchNorm(), {{3, 3, 7}}, 4, 3, false, random);
  Question far = q;
  for (std::size_t i = 3 * 63; i < far.inputs[0].size(); ++i) far.inputs[0][i] = 1e6F;
  OnDevice op(q);
  expect_same(run(op, far, {batch, true}), run(op, q, {batch, true}), q, {batch, true}, 0);
}

TEST(CudaBatchNorm, EachBarrierIsNeeded) {
  Random random(7);
  const FusedTail tail;
  const OpPlace place = fused_place({18, 18, 35}, tail);
  const auto op = fused(place, tail, 4);
  const MicroBatch batch{.size = 8, .count = 8};
  const Question q = random_question(BatchNorm(), {{18, 18, 35}}, 8, 8, true, random);
  const Answer expected = run(*op, q, {batch, true});
  expect_barriers_of("batch_norm.cu", [&] {
    const Answer other = run(*op, q, {batch, true});
    return other.output == expected.output && other.d_inputs == expected.d_inputs &&
           other.d_parameters == expected.d_parameters;
  });
}

}  // namespace
}  // namespace steelyard::nn::cuda::batch_norm_test
