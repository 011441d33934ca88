// Gradients must equal derivatives and must not depend on how the samples are split.
#include <algorithm>
#include <bit>
#include <iterator>

#include "nn/models.h"
#include "nn/network.h"
#include "tests/nn/network_models.h"

namespace steelyard::nn::network_gradients_test {
namespace {

// Compares with central differences of the loss. Two step sizes detect most kinks of a ReLU or a maximum
// within the step; the few undetected ones are tolerated.
void expect_true_gradients(const Model& model, Backend backend) {
  std::vector<float> parameters = initial(model);
  const Data data(model, 8, 5);
  const MicroBatch batch = data.batch(0, 8, 7);
  Network network(model, backend);
  std::vector<float> gradient(parameters.size()), unused(parameters.size());
  network.train(parameters, batch, gradient, false, nullptr);
  const auto slope = [&](std::size_t i, float step) {
    const float before = parameters[i];
    parameters[i] = before + step;
    const double above = network.train(parameters, batch, unused, false, nullptr).loss;
    parameters[i] = before - step;
    const double below = network.train(parameters, batch, unused, false, nullptr).loss;
    parameters[i] = before;
    return (above - below) / (2.0 * step);
  };
  std::size_t compared = 0, wrong = 0, all = 0;
  for (const Range& range : model.layout().ranges) {
    if (range.rule != Rule::step) continue;
    for (std::size_t i = range.begin; i < range.end; i += 1 + model.parameters() / 150, ++all) {
      const double wide = slope(i, 0.01F), narrow = slope(i, 0.005F);
      if (std::abs(wide - narrow) > 1e-3 * (1 + std::abs(wide))) continue;
      const double extrapolated = (4 * narrow - wide) / 3;
      wrong += std::abs(gradient[i] - extrapolated) > 4e-3 * (1 + std::abs(gradient[i])) ? 1 : 0;
      ++compared;
    }
  }
  EXPECT_GT(compared, all / 2);
  EXPECT_LE(wrong, compared / 50) << "of " << compared;
}

bool is_smooth(const Model& model) {
  return std::none_of(model.nodes().begin(), model.nodes().end(), [](const Node& node) {
    const auto* activation = std::get_if<Activation>(&node.kind);
    return std::holds_alternative<MaxPool>(node.kind) ||
           (activation != nullptr && activation->kind == Activation::Kind::relu);
  });
}

bool has_smooth_loss(const Model& model) {
  return model.loss() != Loss::hinge && model.loss() != Loss::mean_absolute_error;
}

TEST(NetworkGradients, MatchFiniteDifferences) {
  std::vector<std::pair<std::string, Model>> all = models_with_grains();
  for (auto& one : models()) {
    if (is_smooth(one.second) && has_smooth_loss(one.second)) all.push_back(std::move(one));
  }
  all.emplace_back("convolutions in both orders", Model({7, 7, 2}, 3)
                                                      .conv2d("a", {.channels = 4, .kernel = 3, .padding = 1})
                                                      .average_pool(2)
                                                      .conv2d("b", {.channels = 8, .kernel = 2})
                                                      .dropout(0.25)
                                                      .conv2d("c", {.channels = 9, .kernel = 2})
                                                      .linear("d", 6)
                                                      .linear("e", 3));
  EXPECT_GE(all.size(), 6U);
  for (const auto& [name, model] : all) {
    SCOPED_TRACE(name);
    for (const Backend backend : {Backend::reference, Backend::cpu}) expect_true_gradients(model, backend);
  }
}

// Pieces are split at grains, and each grain is a separate micro-batch.
TEST(NetworkGradients, SplitsAtGrainsChangeNothing) {
  for (const auto& [name, model] : models_with_grains()) {
    SCOPED_TRACE(name);
    const std::vector<float> parameters = initial(model);
    const Data data(model, 96, 6);
    const auto train = [&](const std::vector<std::uint32_t>& order) {
      Network network(model);
      std::vector<float> gradient(parameters.size());
      for (std::size_t i = 0; i < order.size(); ++i) {
        network.train(parameters, data.batch(32 * order[i], 32, 32), gradient, i > 0, nullptr);
      }
      return gradient;
    };
    std::vector<float> others = train({2, 0});
    const std::vector<float> alone = train({1});
    for (std::size_t i = 0; i < alone.size(); ++i) others[i] += alone[i];
    expect_near(others, train({0, 1, 2}), 1e-4);
  }
}

// The gradient of the samples [begin, end), in the network's own micro-batch sizes.
std::vector<float> gradient_of(const Model& model, const Data& data, std::uint32_t begin, std::uint32_t end) {
  Network network(model);
  std::vector<float> gradient(model.parameters());
  const std::vector<float> parameters = initial(model);
  for (std::uint32_t at = begin; at < end;) {
    const std::uint32_t count = std::min(model.micro_batch(), end - at);
    network.train(parameters, data.batch(at, std::bit_ceil(count), count), gradient, at > begin, nullptr);
    at += count;
  }
  return gradient;
}

// Small inputs keep the test short. The missing models are larger ones made of the same blocks: resnet101,
// efficientnet_b1, inception_v3, vit_b16.
TEST(NetworkGradients, SplitsChangeNothingInBuiltInModels) {
  const std::vector<std::pair<std::string, ModelOptions>> all{{"softmax", {{4, 4, 1}, 3, {}}},
                                                              {"svm", {{4, 4, 1}, 3, {}}},
                                                              {"mlp", {{4, 4, 1}, 3, {}}},
                                                              {"lenet5", {{28, 28, 1}, 3, {}}},
                                                              {"cifarnet", {{32, 32, 3}, 3, {}}},
                                                              {"resnet20", {{8, 8, 3}, 3, {}}},
                                                              {"resnet32", {{8, 8, 3}, 3, {}}},
                                                              {"resnet18", {{8, 8, 3}, 3, {}}},
                                                              {"densenet121", {{32, 32, 3}, 3, {}}},
                                                              {"shufflenet_v2", {{32, 32, 3}, 3, {}}},
                                                              {"efficientnet_b0", {{32, 32, 3}, 3, {}}},
                                                              {"vit", {{8, 8, 3}, 3, {}}},
                                                              {"transformer", {{1, 6, 1}, 3, {}}},
                                                              {"albert", {{1, 3, 1}, 3, {}}},
                                                              {"gpt", {{1, 8, 1}, 256, {{"width", "24"}}}},
                                                              {"gpt2", {{1, 8, 1}, 50, {{"width", "24"}}}}};
  for (const auto& [name, options] : all) {
    SCOPED_TRACE(name);
    const Model model = make_model(name, options);
    const std::uint32_t samples = model.grain() > 1 ? 64 : 12, cut = model.grain() > 1 ? model.grain() : 7;
    const Data data(model, samples + largest_micro_batch, 6);  // padding is read as well
    std::vector<float> parts = gradient_of(model, data, 0, cut);
    const std::vector<float> rest = gradient_of(model, data, cut, samples);
    for (std::size_t i = 0; i < parts.size(); ++i) parts[i] += rest[i];
    expect_near(parts, gradient_of(model, data, 0, samples), 1e-4);
  }
}

// Gradients of running averages are sums over samples, so that servers can divide them by the positions.
TEST(NetworkGradients, ContainStatisticsTimesSamples) {
  const Model model = graph({1, 1, 1}, 2, [](Value x) { x.batch_norm("n").linear("f", 2); });
  const std::vector<float> parameters = initial(model), inputs{1, 2, 3, 6};
  const std::vector<std::uint32_t> labels{0, 1, 0, 1};
  const std::vector<std::uint64_t> positions{0, 1, 2, 3};
  std::vector<float> gradient(parameters.size());
  Network(model).train(parameters, {inputs.data(), labels.data(), positions.data(), 4, 4, 1, 1}, gradient,
                       false, nullptr);
  const Layout layout = model.layout();
  EXPECT_EQ(layout.tensors[4].name, "n.running_mean");
  EXPECT_FLOAT_EQ(gradient[layout.tensors[4].offset], 4 * 3.0F);
  EXPECT_FLOAT_EQ(gradient[layout.tensors[5].offset], 4 * 14.0F / 3) << "the unbiased variance";
}

}  // namespace
}  // namespace steelyard::nn::network_gradients_test
