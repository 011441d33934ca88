#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::group_norm_test {
namespace {

TEST(CudaGroupNorm, AgreesWithTheReference) {
  Random random(1);
  expect_good_cuda_op(GroupNorm(1), {Shape{1, 2, 1}}, random);
  expect_good_cuda_op(GroupNorm(3), {Shape{3, 5, 3}}, random);
  expect_good_cuda_op(GroupNorm(5), {Shape{3, 3, 35}}, random);
  expect_good_cuda_op(GroupNorm(2), {Shape{4, 4, 24}}, random);
  expect_good_cuda_op(GroupNorm(1), {Shape{17, 19, 6}}, random);
}

// The gradients of the parameters are sums over 700 samples, in two stages.
TEST(CudaGroupNorm, SumsManySamples) {
  if (!thorough) GTEST_SKIP() << "too slow under a sanitizer";
  Random random(4);
  const MicroBatch batch{.size = 700, .count = 700};
  Question q = random_question(GroupNorm(1), {{23, 23, 2}}, 700, 700, true, random);
  q.place.micro_batch = 700;
  OnDevice op(q);
  expect_same(run(op, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true}, 5e-4F);
}

TEST(CudaGroupNorm, ALargeMeanKeepsResultsPrecise) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 4};
  Question q = random_question(GroupNorm(3), {{4, 4, 6}}, 4, 4, false, random);
  for (float& x : q.inputs[0]) x = 1000 + x;
  OnDevice op(q);
  expect_same(run(op, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true}, 2e-3F);
}

}  // namespace
}  // namespace steelyard::nn::cuda::group_norm_test
