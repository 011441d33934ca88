#include "worker/compute/workload.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/check.h"
#include "core/error.h"
#include "nn/loss.h"
#include "nn/optimizer/rule.h"
#include "worker/compute/engines.h"
#include "worker/compute/parallel_engine.h"

namespace steelyard {
namespace {

std::uint32_t targets_of(const nn::Model& model) { return takes_targets(model.loss()) ? model.classes() : 0; }

std::unique_ptr<Engine> cpu_engine(const nn::Model& model, unsigned threads) {
  CHECK(threads > 0, "an engine needs at least one thread");
  if (threads == 1) return std::make_unique<CpuEngine>(model);
  std::vector<std::unique_ptr<Engine>> engines;
  for (unsigned i = 0; i < threads; ++i) engines.push_back(std::make_unique<CpuEngine>(model));
  return std::make_unique<ParallelEngine>(
      std::move(engines),
      ParallelEngine::SampleSize{model.input().size(), model.labels(), targets_of(model)});
}

std::unique_ptr<Engine> engine_of(const nn::Model& model, const Computing& computing, const DataSets& data) {
  if (computing.device.type == Device::Type::cpu) return cpu_engine(model, computing.threads);
  return make_cuda_engine(model, computing.device, computing.precision, computing.reserved, data);
}

}  // namespace

Workload model_workload(nn::Model model, DataSets data, const Computing& computing) {
  model.check();
  model.multiply_in(computing.precision).recompute_activations(computing.recompute);
  const DataSet& train = *data.train;
  if ((train.targets() > 0) != takes_targets(model.loss())) {
    const std::string word = "loss = \"" + nn::word_of(model.loss()) + "\" ";
    refuse_setup(
        train.targets() > 0
            ? "data set '" + data.name + "' has numbers as labels (targets), and the model's " + word +
                  "takes classes: give loss = \"mse\", \"mae\" or \"bce\" in [model], which the models mlp "
                  "and layers have, or targets = \"classes\" in [data]"
            : "the model's " + word + "takes numbers as labels (targets), and data set '" + data.name +
                  "' has classes: choose the data set csv or npy, or another loss");
  }
  const auto taken = [](nn::Shape shape, std::uint32_t classes, std::uint32_t labels) {
    return to_string(shape) + " in " + std::to_string(classes) + " classes" +
           (labels == 1 ? "" : ", with " + std::to_string(labels) + " labels each");
  };
  if (train.shape() != model.input() || train.classes() != model.classes() ||
      train.labels() != model.labels()) {
    refuse_setup("the model takes samples of " + taken(model.input(), model.classes(), model.labels()) +
                 ", data set '" + data.name + "' has " +
                 taken(train.shape(), train.classes(), train.labels()) +
                 ": make the model for this data set");
  }
  return {.layout = model.layout(),
          .initialize = [model](std::span<float> parameters,
                                std::uint64_t seed) { model.initialize(parameters, seed); },
          .make_engine = [model, computing, data] { return engine_of(model, computing, data); },
          .data = std::move(data),
          .grain = model.grain(),
          .model = model};
}

}  // namespace steelyard
