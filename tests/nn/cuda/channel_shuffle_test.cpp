#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::channel_shuffle_test {
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

}  // namespace
}  // namespace steelyard::nn::cuda::channel_shuffle_test
