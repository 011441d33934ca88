#include "bench/gpu/gpu_models.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"

namespace steelyard::bench {
namespace {

using nn::ModelOptions;

std::vector<GpuModel> table() {
  const ModelOptions fashion{{28, 28, 1}, 10, {}}, cifar{{32, 32, 3}, 10, {}},
      imagenet{{224, 224, 3}, 1000, {}};
  const ModelOptions dots{{4, 4, 1}, 3, {}}, tiny{{8, 8, 3}, 3, {}}, small{{32, 32, 3}, 3, {}};
  return {{"softmax", fashion, 32, dots},
          {"svm", fashion, 32, dots},
          {"mlp", fashion, 32, dots},
          {"lenet5", fashion, 32, {{28, 28, 1}, 3, {}}},
          {"cifarnet", cifar, 32, small},
          {"resnet20", cifar, 16, tiny, 16},
          {"resnet32", cifar, 16, tiny, 16},
          {"resnet18", cifar, 16, tiny, 16},
          {"resnet101", imagenet, 4, small, 16},
          {"densenet121", imagenet, 4, small, 16},
          {"shufflenet_v2", imagenet, 4, small, 16},
          {"efficientnet_b0", imagenet, 4, small, 16},
          {"efficientnet_b1", imagenet, 4, small, 16},
          {"inception_v3", {{299, 299, 3}, 1000, {}}, 4, {{75, 75, 3}, 3, {}}, 16},
          {"vit", cifar, 16, {{8, 8, 3}, 3, {{"width", "64"}, {"heads", "4"}}}},
          {"vit_b16", imagenet, 2, {{16, 16, 3}, 3, {}}},
          {"transformer", {{1, 64, 1}, 10, {}}, 16, {{1, 6, 1}, 3, {}}, 2, 1000},
          {"albert", {{1, 128, 1}, 2, {}}, 2, {{1, 3, 1}, 3, {}}, 2, 30000},
          {"gpt", {{1, 256, 1}, 256, {}}, 4, {{1, 8, 1}, 256, {{"width", "24"}}}, 2, 256},
          {"gpt2", {{1, 256, 1}, 50257, {}}, 4, {{1, 8, 1}, 50257, {{"width", "24"}}}, 2, 50257}};
}

}  // namespace

const std::vector<GpuModel>& gpu_models() {
  static const std::vector<GpuModel> models = table();
  return models;
}

const GpuModel& gpu_model(const std::string& name) {
  const auto found = std::ranges::find(gpu_models(), name, &GpuModel::name);
  if (found == gpu_models().end())
    throw Failure(ExitCode::failed, "there is no model " + name + " to measure");
  return *found;
}

RandomSamples::RandomSamples(const nn::Model& model, std::uint32_t count, std::uint32_t tokens)
    : inputs_(model.input().size() * count) {
  Random random(1);
  for (float& value : inputs_)
    value = static_cast<float>(tokens > 0 ? static_cast<double>(random.below(tokens)) : random.normal());
  for (std::uint64_t i = 0; i < std::uint64_t{model.labels()} * count; ++i)
    labels_.push_back(static_cast<std::uint32_t>(random.below(model.classes())));
  for (std::uint32_t s = 0; s < count; ++s) positions_.push_back(s);
}

nn::MicroBatch RandomSamples::batch(std::uint32_t size, std::uint32_t count) const {
  return {.inputs = inputs_.data(),
          .labels = labels_.data(),
          .positions = positions_.data(),
          .size = size,
          .count = count,
          .seed = 1};
}

}  // namespace steelyard::bench
