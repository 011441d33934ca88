#include "nn/layers/transpose.h"

#include "tests/nn/op_run.h"

namespace steelyard::nn {
namespace {

TEST(Transpose, TurnsThereAndBack) {
  Random random(8);
  const Shape shape{3, 5, 4};
  for (const std::uint32_t size : micro_batch_sizes) {
    const MicroBatch batch{.size = size, .count = size};
    const Pass pass{batch, true};
    const Question question = random_question(shape, shape, 0, size, false, random);
    const Answer there =
        run(*make_transpose(shape, Order::lanes), Order::samples, Order::lanes, question, pass);
    const Answer back =
        run(*make_transpose(shape, Order::samples), Order::lanes, Order::samples, question, pass);
    for (const Answer& answer : {there, back}) {
      EXPECT_EQ(answer.outputs, question.inputs);
      EXPECT_EQ(answer.d_inputs, question.d_outputs);
    }
  }
}

}  // namespace
}  // namespace steelyard::nn
