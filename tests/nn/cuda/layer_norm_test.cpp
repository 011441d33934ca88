#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::layer_norm_test {
namespace {

TEST(CudaLayerNorm, AgreesWithTheReference) {
  Random random(1);
  for (const Shape shape :
       {Shape{1, 1, 2}, Shape{1, 5, 33}, Shape{3, 3, 7}, Shape{1, 9, 64}, Shape{1, 2, 301}}) {
    expect_good_cuda_op(LayerNorm(), {shape}, random);
  }
}

// Whole packs: each number of packs per lane, and more features than one sweep takes. Enough tokens that
// warps have several.
TEST(CudaLayerNorm, SupportsAnyNumberOfFeatures) {
  Random random(4);
  using Numbers = std::vector<std::uint32_t>;
  for (const std::uint32_t features :
       thorough ? Numbers{4, 128, 132, 260, 384, 512, 900, 1024, 1028, 1030} : Numbers{132, 1028}) {
    for (const bool add : {false, true}) {
      const std::uint32_t size = thorough && features <= 132 ? 800 : 4;
      const MicroBatch batch{.size = size, .count = size - 1};
      Question q = random_question(LayerNorm(), {{1, 3, features}}, size, size - 1, add, random);
      q.place.micro_batch = size;
      const Pass pass{batch, true};
      const Answer expected = run(*reference_op(q), q, pass);
      OnDevice op(q);
      expect_same(run(op, q, pass), expected, q, pass);
      if (size <= 4) expect_all_buffers(op, q, pass, expected);
    }
  }
}

TEST(CudaLayerNorm, EachBarrierIsNeeded) {
  Random random(5);
  expect_needed_barriers("layer_norm.cu", {random_question(LayerNorm(), {{1, 20, 132}}, 1, 1, false, random)},
                         1, 1);
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

}  // namespace
}  // namespace steelyard::nn::cuda::layer_norm_test
