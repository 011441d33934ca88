#include "core/error.h"
#include "nn/cpu/kernel_calls.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::average_pool_test {
namespace {

using testing::ElementsAre;

TEST(AveragePool, MatchesHandComputedNumbers) {
  const MicroBatch batch{.size = 1, .count = 1};
  Random random(1);
  Question q = random_question(AveragePool(2), {{2, 5, 1}}, 1, 1, false, random);
  q.inputs[0] = {1, 2, 3, 4, 9, 5, 6, 7, 8, 9};
  q.d_output = {4, 8};
  for (const Order order : {Order::samples, Order::lanes}) {
    const Answer answer = run(*cpu_op(q, order), q, {batch, true}, order, order);
    EXPECT_THAT(answer.output, ElementsAre(3.5, 5.5));
    EXPECT_THAT(answer.d_inputs[0], ElementsAre(1, 1, 2, 2, 0, 1, 1, 2, 2, 0));
  }
  // Padding counts as zero.
  q = random_question(AveragePool(2, 2, 1), {{2, 2, 1}}, 1, 1, false, random);
  q.inputs[0] = {4, 8, 12, 16};
  q.d_output = {4, 8, 12, 16};
  const Answer answer = run(*cpu_op(q), q, {batch, true});
  EXPECT_THAT(answer.output, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(answer.d_inputs[0], ElementsAre(1, 2, 3, 4));
}

TEST(AveragePool, ReferenceGradientsMatchFiniteDifferences) {
  Random random(3);
  const MicroBatch batch{.size = 2, .count = 2};
  for (const AveragePool& pool :
       {AveragePool(2), AveragePool(3, 2, 1), AveragePool(3, 1, 1), AveragePool(2, 3)}) {
    const Question q = random_question(pool, {{5, 4, 3}}, 2, 2, false, random);
    expect_true_gradients(*reference_op(q), q, {batch, true}, 0.25F);
  }
}

TEST(AveragePool, TheCpuMatchesTheReference) {
  Random random(4);
  for (const AveragePool& pool : {AveragePool(2), AveragePool(3, 2, 1), AveragePool(3, 1, 1),
                                  AveragePool(2, 3), AveragePool(5, 2, 2)}) {
    for (const Shape input : {Shape{5, 7, 1}, Shape{6, 5, 3}, Shape{9, 8, 16}, Shape{5, 6, 33}}) {
      SCOPED_TRACE(testing::Message() << pool.size << '/' << pool.stride << '/' << pool.padding << " of "
                                      << input.height << 'x' << input.width << 'x' << input.channels);
      expect_good_op(pool, {input}, random);
    }
  }
}

TEST(AveragePool, IsIdenticalAtEveryLevel) {
  Random random(5);
  const PoolWindows windows{7, 9, 11, 4, 5, 3, 2, 1, 2};
  const Floats input = random_floats(2 * 7 * 9 * 11, random),
               d_output = random_floats(2 * 4 * 5 * 11, random);
  std::vector<Floats> outputs, d_inputs;
  for (const Level level : {Level::baseline, Level::v3, Level::v4}) {
    if (level > cpu_level()) continue;
    Floats output(d_output.size()), d_input(input.size(), 0.5F);
    cpu::pool_kernels(level).average_forward(windows, input.data(), output.data());
    cpu::pool_kernels(level).average_backward(windows, d_output.data(), true, d_input.data());
    expect_near(output, outputs.empty() ? outputs.emplace_back(output) : outputs[0], "output", 1e-6F);
    expect_near(d_input, d_inputs.empty() ? d_inputs.emplace_back(d_input) : d_inputs[0], "gradient", 1e-6F);
  }
}

TEST(AveragePool, IsIdenticalInLanesAndSamples) {
  Random random(6);
  for (const std::uint32_t size : micro_batch_sizes) {
    const MicroBatch batch{.size = size, .count = size};
    const Question q = random_question(AveragePool(3), {{7, 5, 3}}, size, size, false, random);
    expect_same(run(*cpu_op(q, Order::lanes), q, {batch, true}, Order::lanes, Order::lanes),
                run(*reference_op(q), q, {batch, true}), q, {batch, true});
  }
}

TEST(AveragePool, RefusesUnsupportedShapes) {
  const OpPlace place{.inputs = {{9, 9, 1}}, .output = {5, 5, 1}, .order = Order::lanes};
  EXPECT_THROW(cpu::make(AveragePool(3, 2, 1), place), Failure);
}

}  // namespace
}  // namespace steelyard::nn::average_pool_test
