#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::channel_slice_test {
namespace {

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

}  // namespace
}  // namespace steelyard::nn::cuda::channel_slice_test
