#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::channel_moves_test {
namespace {

TEST(CudaChannelShuffle, AgreesWithTheReference) {
  Random random(1);
  const auto expect_good = [&](std::uint32_t groups, std::uint32_t channels) {
    expect_good_cuda_op(ChannelShuffle(groups), {{3, 5, channels}}, random, 1e-6F);
  };
  expect_good(1, 3);
  expect_good(2, 6);
  expect_good(3, 15);
  expect_good(4, 40);
  expect_good(116, 116);
}

TEST(CudaChannelSlice, AgreesWithTheReference) {
  Random random(1);
  const auto expect_good = [&](std::uint32_t begin, std::uint32_t end, std::uint32_t channels) {
    SCOPED_TRACE(testing::Message() << '[' << begin << ", " << end << ") of " << channels);
    expect_good_cuda_op(ChannelSlice(begin, end), {{3, 5, channels}}, random, 1e-6F);
  };
  expect_good(0, 1, 1);
  expect_good(0, 8, 16);
  expect_good(8, 16, 16);
  expect_good(4, 8, 40);
  expect_good(2, 6, 8);
  expect_good(3, 20, 33);
}

TEST(CudaConcat, AgreesWithTheReference) {
  Random random(1);
  for (const std::vector<std::uint32_t>& parts :
       {std::vector<std::uint32_t>{1, 1}, {8, 4, 12}, {3, 16}, {33, 7, 2, 8}}) {
    std::vector<Shape> inputs;
    for (const std::uint32_t channels : parts) inputs.push_back({3, 5, channels});
    expect_good_cuda_op(Concat{}, inputs, random, 1e-6F);
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::channel_moves_test
