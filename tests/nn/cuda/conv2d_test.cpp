#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::conv2d_test {
namespace {

void expect_good(const Conv2d& op, Shape in, Random& random) {
  SCOPED_TRACE(testing::Message() << in.height << 'x' << in.width << 'x' << in.channels << " to "
                                  << op.channels << " by " << op.kernel.rows << 'x' << op.kernel.columns
                                  << ", stride " << op.stride << ", groups " << op.groups);
  expect_good_cuda_op(op, {in}, random);
}

TEST(CudaConv2d, AgreesWithTheReferenceForEveryKernel) {
  Random random(1);
  for (std::uint32_t k = 1; k <= 7; ++k) {
    for (const std::uint32_t stride : {1U, 2U}) {
      expect_good({.channels = 6, .kernel = k, .stride = stride, .padding = k / 2}, {7, 8, 3}, random);
    }
  }
  expect_good({.channels = 4, .kernel = 3, .stride = 3, .bias = false}, {8, 7, 4}, random);
  expect_good({.channels = 5, .kernel = {1, 7}, .padding = {0, 3}}, {4, 9, 5}, random);
  expect_good({.channels = 8, .kernel = {3, 2}, .stride = 2, .padding = {2, 0}}, {6, 5, 8}, random);
}

TEST(CudaConv2d, AgreesWithTheReferenceForAllChannels) {
  Random random(2);
  for (const std::uint32_t in : {1U, 2U, 4U, 9U, 33U}) {
    for (const std::uint32_t out : {1U, 2U, 8U, 35U}) {
      expect_good({.channels = out, .kernel = 3, .padding = 1, .bias = in != 4}, {3, 5, in}, random);
    }
  }
}

TEST(CudaConv2d, AgreesWithTheReferenceInGroups) {
  Random random(3);
  const auto grouped = [&](std::uint32_t in, std::uint32_t out, std::uint32_t groups, std::uint32_t stride) {
    expect_good({.channels = out, .kernel = 3, .stride = stride, .padding = 1, .groups = groups}, {6, 5, in},
                random);
  };
  grouped(7, 7, 7, 1);  // depth-wise
  grouped(36, 36, 36, 2);
  grouped(5, 10, 5, 1);  // depth-wise, two outputs per channel
  grouped(8, 2, 2, 1);
  grouped(8, 16, 2, 2);
  grouped(18, 9, 3, 1);
}

// Several chunks of places in the gradient of the weights, and more than one block in each kernel.
TEST(CudaConv2d, SupportsManyPlaces) {
  Random random(4);
  const std::uint32_t size = thorough ? 8 : 2;
  const MicroBatch batch{.size = size, .count = size - 1};
  for (const Conv2d& op : {Conv2d{.channels = 6, .kernel = 5, .padding = 2},
                           Conv2d{.channels = 16, .kernel = 3, .stride = 2, .padding = 1, .bias = false}}) {
    for (const std::uint32_t in : {1U, 16U}) {
      const Question q = random_question(op, {{21, 18, in}}, size, size - 1, true, random);
      OnDevice device(q);
      const Answer expected = run(*reference_op(q), q, {batch, true});
      in_each_schedule([&] { expect_same(run(device, q, {batch, true}), expected, q, {batch, true}); });
    }
  }
}

// At borders, zeros replace the outside of the image; values of other samples must not leak in.
TEST(CudaConv2d, NanStaysInItsSample) {
  Random random(5);
  const MicroBatch batch{.size = 2, .count = 2};
  Question q =
      random_question(Conv2d{.channels = 3, .kernel = 3, .padding = 1}, {{1, 3, 2}}, 2, 2, false, random);
  std::fill(q.inputs[0].begin(), q.inputs[0].begin() + 6, NAN);
  OnDevice op(q);
  const Floats output = run(op, q, {batch, false}).output;
  for (std::size_t i = 0; i < output.size(); ++i) EXPECT_EQ(std::isnan(output[i]), i < 9) << i;
}

TEST(CudaConv2d, EqualInputsGiveEqualBits) {
  Random random(6);
  const MicroBatch batch{.size = 8, .count = 8};
  const Question q =
      random_question(Conv2d{.channels = 8, .kernel = 3, .padding = 1}, {{12, 12, 8}}, 8, 8, true, random);
  OnDevice op(q);
  const Answer expected = run(op, q, {batch, true});
  in_each_schedule([&] {
    const Answer answer = run(op, q, {batch, true});
    EXPECT_EQ(answer.output, expected.output);
    EXPECT_EQ(answer.d_inputs, expected.d_inputs);
    EXPECT_EQ(answer.d_parameters, expected.d_parameters);
  });
}

}  // namespace
}  // namespace steelyard::nn::cuda::conv2d_test
