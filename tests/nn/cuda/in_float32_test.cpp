#include "nn/cuda/in_float32.h"

#include "tests/nn/cuda/on_device.h"

namespace steelyard::nn::cuda::in_float32_test {
namespace {

// Casts around an op that reads its inputs, and one with two inputs.
TEST(InFloat32, AnOpHasTheResultsOfFloat32RoundedOnce) {
  Random random(1);
  const std::pair<OpKind, std::vector<Shape>> ops[] = {
      {Conv2d{.channels = 5, .kernel = 3, .padding = 1}, {{3, 4, 3}}},
      {Scale(), {{3, 5, 6}, {1, 1, 6}}},
      {LayerNorm(), {{1, 5, 33}}}};
  for (const auto& [kind, inputs] : ops) {
    for (const auto& [size, count] : {std::pair{4U, 3U}, {1U, 1U}}) {
      const MicroBatch batch{.size = size, .count = count};
      const Pass pass{batch, true};
      Question q = random_question(kind, inputs, size, count, true, random);
      shorten(q);
      const Answer expected = run(*reference_op(q), q, pass);
      q.place.storage = Storage::bf16;
      const auto make = [&](const OpPlace& place, const Context& context) {
        return in_float32(place, context, [&](const OpPlace& inner) {
          EXPECT_EQ(inner.storage, Storage::float32);
          return std::visit([&](const auto& op) { return cuda::make(op, inner, context); }, q.kind);
        });
      };
      OnDevice op(make, q);
      EXPECT_TRUE(op.implementation().ends_with(" in float32")) << op.implementation();
      const float tolerance = tolerance_in(Storage::bf16, 2e-4F);
      expect_same(run(op, q, pass), expected, q, pass, tolerance);
      expect_all_buffers(op, q, pass, expected, tolerance);
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::in_float32_test
