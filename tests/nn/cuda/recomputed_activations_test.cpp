// The plan of nn/recomputation.h on a device.
#include <algorithm>

#include "nn/cuda/cuda_network.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::cuda::recomputed_activations_test {
namespace {

struct Result {
  std::vector<float> gradient;
  Sums sums;
  std::uint64_t bytes;
};

// Three micro-batches: the first brings the parameters, the others run as a captured graph.
Result trained(const Model& model) {
  const std::uint32_t size = std::max(4U, model.grain());
  const std::vector<float> parameters = initial(model);
  const Data data(model, 3 * size, 6);
  Network network(model, 0, size);
  Result it{std::vector<float>(parameters.size()), {}, network.bytes()};
  network.begin(parameters);
  for (std::uint32_t i = 0; i < 3; ++i) network.train(data.batch(i * size, size, size), i == 2);
  it.sums = network.finish(it.gradient, [](std::uint64_t, std::uint64_t) {});
  return it;
}

TEST(RecomputedActivations, GradientsHaveTheSameBits) {
  auto all = models();
  for (auto& one : models_with_grains()) all.push_back(std::move(one));
  std::size_t smaller = 0;
  for (const auto& [name, model] : all) {
    SCOPED_TRACE(name);
    const Result kept = trained(model), again = trained(Model(model).recompute_activations());
    EXPECT_EQ(again.gradient, kept.gradient);
    EXPECT_EQ(again.sums, kept.sums);
    EXPECT_LE(again.bytes, kept.bytes);
    smaller += again.bytes < kept.bytes ? 1 : 0;
  }
  EXPECT_GT(smaller, 2U) << "activations were kept nevertheless";
}

}  // namespace
}  // namespace steelyard::nn::cuda::recomputed_activations_test
