#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::select_token_test {
namespace {

TEST(CudaSelectToken, AgreesWithTheReference) {
  Random random(1);
  for (const std::uint32_t token : {0, 2, 4}) {
    for (const std::uint32_t features : {3, 40, 301}) {
      expect_good_cuda_op(SelectToken(token), {Shape{1, 5, features}}, random);
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::select_token_test
