#include <numeric>

#include "core/error.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/op_table.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::max_pool_test {
namespace {

using testing::ElementsAre;

// Distinct numbers that are far apart, in random order, so that each window has one maximum.
void spread_out(Floats& values, Random& random) {
  std::iota(values.begin(), values.end(), -0.5F * static_cast<float>(values.size()));
  for (std::uint64_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[random.below(i)]);
}

TEST(MaxPool, MatchesHandComputedNumbers) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(1);
  // 3 x 4 with windows of 2: the third row belongs to no window.
  Question q = random_question(MaxPool(2), {{3, 4, 1}}, 1, 1, false, random);
  q.inputs[0] = {1, 5, 7, 7, 3, 2, 7, 0, 9, 9, 9, 9};
  q.d_output = {10, 20};
  for (const Order order : {Order::samples, Order::lanes}) {
    const Answer answer = run(*cpu_op(q, order), q, {batch, true}, order, order);
    EXPECT_THAT(answer.output, ElementsAre(5, 7));
    EXPECT_THAT(answer.d_inputs[0], ElementsAre(0, 10, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0));
  }
  EXPECT_THAT(run(*reference_op(q), q, {batch, true}).d_inputs[0],
              ElementsAre(0, 10, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0));

  // Overlapping and padded windows, all numbers negative: padding is never the maximum.
  q = random_question(MaxPool(3, 2, 1), {{3, 3, 1}}, 1, 1, false, random);
  q.inputs[0] = {-9, -8, -7, -6, -1, -5, -4, -3, -2};
  q.d_output = {1, 2, 4, 8};
  const Answer answer = run(*cpu_op(q), q, {batch, true});
  EXPECT_THAT(answer.output, ElementsAre(-1, -1, -1, -1));
  EXPECT_THAT(answer.d_inputs[0], ElementsAre(0, 0, 0, 0, 15, 0, 0, 0, 0));
}

TEST(MaxPool, NanInputsGiveNan) {
  Random random(2);
  const MicroBatch batch{.size = 1, .count = 1};
  for (std::size_t at = 0; at < 4; ++at) {
    Question q = random_question(MaxPool(2), {{2, 2, 1}}, 1, 1, false, random);
    q.inputs[0][at] = NAN;
    for (Op* op : {cpu_op(q).release(), reference_op(q).release()}) {
      const std::unique_ptr<Op> owner(op);
      Floats result(1);
      const float* input = q.inputs[0].data();
      op->forward({batch, true}, {{&input, 1}, {}, result.data(), nullptr});
      EXPECT_TRUE(std::isnan(result[0]));
    }
  }
}

TEST(MaxPool, ReferenceGradientsMatchFiniteDifferences) {
  Random random(3);
  const MicroBatch batch{.size = 2, .count = 2};
  for (const MaxPool& pool : {MaxPool(2), MaxPool(3, 2, 1), MaxPool(3, 1, 1), MaxPool(2, 3)}) {
    Question q = random_question(pool, {{5, 4, 3}}, 2, 2, false, random);
    spread_out(q.inputs[0], random);
    expect_true_gradients(*reference_op(q), q, {batch, true}, 0.25F);
  }
}

TEST(MaxPool, TheCpuMatchesTheReference) {
  Random random(4);
  for (const MaxPool& pool :
       {MaxPool(2), MaxPool(3, 2, 1), MaxPool(3, 1, 1), MaxPool(2, 3), MaxPool(5, 2, 2)}) {
    for (const Shape input :
         {Shape{5, 7, 1}, Shape{6, 5, 3}, Shape{9, 8, 16}, Shape{5, 6, 33}, Shape{7, 7, 40}}) {
      SCOPED_TRACE(testing::Message() << pool.size << '/' << pool.stride << '/' << pool.padding << " of "
                                      << input.height << 'x' << input.width << 'x' << input.channels);
      expect_good_op(pool, {input}, random);
    }
  }
}

TEST(MaxPool, IsIdenticalAtEveryLevel) {
  Random random(5);
  const PoolWindows windows{7, 9, 11, 4, 5, 3, 2, 1, 2};
  const Floats input = random_floats(2 * 7 * 9 * 11, random),
               d_output = random_floats(2 * 4 * 5 * 11, random);
  std::vector<Floats> outputs, d_inputs;
  for (const Level level : {Level::baseline, Level::v3, Level::v4}) {
    if (level > cpu_level()) continue;
    Floats output(d_output.size()), d_input(input.size(), 0.5F);
    std::vector<PlaceInWindow> places(output.size() + slack);
    const PoolTable& kernels = cpu::pool_kernels(level);
    kernels.max_forward(windows, input.data(), output.data(), places.data());
    kernels.max_backward(windows, places.data(), d_output.data(), true, d_input.data());
    outputs.push_back(output);
    d_inputs.push_back(d_input);
  }
  EXPECT_THAT(outputs, testing::Each(outputs[0]));
  for (const Floats& d_input : d_inputs) expect_near(d_input, d_inputs[0], "gradient", 1e-6F);
}

TEST(MaxPool, IsIdenticalInLanesAndSamples) {
  Random random(6);
  for (const Shape input : {Shape{4, 4, 1}, Shape{7, 5, 3}, Shape{6, 9, 8}}) {
    for (const std::uint32_t size : micro_batch_sizes) {
      const MicroBatch batch{.size = size, .count = size};
      const Question q = random_question(MaxPool(3), {input}, size, size, false, random);
      expect_same(run(*cpu_op(q, Order::lanes), q, {batch, true}, Order::lanes, Order::lanes),
                  run(*reference_op(q), q, {batch, true}), q, {batch, true});
    }
  }
}

TEST(MaxPool, CanIncludeTheBackwardOfAReluBeforeIt) {
  Random random(7);
  const MicroBatch batch{.size = 8, .count = 8};
  const Pass pass{batch, true};
  Question q = random_question(MaxPool(2), {{4, 6, 2}}, 8, 8, false, random);
  for (float& value : q.inputs[0]) value = std::max(value, 0.0F);  // like the output of a ReLU
  Answer expected = run(*reference_op(q), q, pass);
  for (std::size_t i = 0; i < q.inputs[0].size(); ++i) {
    if (q.inputs[0][i] <= 0) expected.d_inputs[0][i] = 0;
  }
  const auto fused = cpu::make_max_pool(MaxPool(2), q.place, true);
  expect_same(run(*fused, q, pass, Order::lanes, Order::lanes), expected, q, pass, 0);
}

TEST(MaxPool, RefusesUnsupportedShapes) {
  OpPlace place{.inputs = {{9, 9, 1}}, .output = {5, 5, 1}, .order = Order::lanes};
  EXPECT_THROW(cpu::make(MaxPool(3, 2, 1), place), Failure);
  place = {.inputs = {{300, 300, 1}}, .output = {1, 1, 1}};
  EXPECT_THROW(cpu::make(MaxPool(257), place), Failure);
}

}  // namespace
}  // namespace steelyard::nn::max_pool_test
