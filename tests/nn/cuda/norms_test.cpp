#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::norms_test {
namespace {

TEST(CudaLayerNorm, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape :
       {Shape{1, 1, 2}, Shape{1, 5, 33}, Shape{3, 3, 7}, Shape{1, 9, 64}, Shape{1, 2, 301}}) {
    expect_good_cuda_op(LayerNorm(), {shape}, random);
  }
}

TEST(CudaLayerNorm, ALargeMeanKeepsResultsPrecise) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 4};
  Question q = random_question(LayerNorm(), {{1, 3, 50}}, 4, 4, false, random);
  for (float& x : q.inputs[0]) x = 1000 + x;
  OnDevice op(q);
  expect_same(run(op, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true}, 2e-3F);
}

// Equal features have variance zero, and no result may become infinite.
TEST(CudaLayerNorm, EqualFeaturesGiveFiniteResults) {
  Random random(3);
  const MicroBatch batch{.size = 2, .count = 2};
  Question q = random_question(LayerNorm(), {{1, 1, 6}}, 2, 2, false, random);
  for (float& x : q.inputs[0]) x = 3;
  OnDevice op(q);
  expect_same(run(op, q, {batch, true}), run(*reference_op(q), q, {batch, true}), q, {batch, true}, 1e-5F);
}

TEST(CudaGroupNorm, AgreesWithTheReference) {
  Random random(1);
  expect_good_cuda_op(GroupNorm(1), {Shape{1, 2, 1}}, random);
  expect_good_cuda_op(GroupNorm(3), {Shape{3, 5, 3}}, random);
  expect_good_cuda_op(GroupNorm(5), {Shape{3, 3, 35}}, random);
  expect_good_cuda_op(GroupNorm(2), {Shape{4, 4, 24}}, random);
  expect_good_cuda_op(GroupNorm(1), {Shape{17, 19, 6}}, random);
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
}  // namespace steelyard::nn::cuda::norms_test
