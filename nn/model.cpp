#include "nn/model.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "core/error.h"
#include "core/random.h"

namespace steelyard::nn {
namespace {

// Every refusal names the layer and what it was given; `trouble` says what is wrong and what to do about it.
void require(bool condition, const Layer& layer, const std::string& trouble) {
  if (condition) return;
  throw Failure(ExitCode::configuration,
                "model layer '" + layer.name + "' gets " + to_string(layer.input) + " and " + trouble);
}

// Pools deliver whole windows only.
Shape pooled(const Layer& layer, std::uint32_t size) {
  require(size > 0, layer, "has windows of size 0: give a size of at least 1");
  require(size <= layer.input.height && size <= layer.input.width, layer,
          "its window of " + std::to_string(size) + " does not fit: use a smaller window or fewer pools");
  return {layer.input.height / size, layer.input.width / size, layer.input.channels};
}

// The kernel must fit into the padded picture; steps of `stride` that would leave it are not taken. In 64
// bits, so that no padding is too large to be refused.
Shape convolved(const Layer& layer, const Conv2d& c) {
  require(c.channels > 0 && c.kernel > 0 && c.stride > 0, layer,
          "needs channels, kernel and stride of at least 1");
  const std::uint64_t padded_height = layer.input.height + std::uint64_t{2} * c.padding;
  const std::uint64_t padded_width = layer.input.width + std::uint64_t{2} * c.padding;
  require(c.kernel <= padded_height && c.kernel <= padded_width, layer,
          "its kernel of " + std::to_string(c.kernel) + " does not fit: add padding or use a smaller kernel");
  return {static_cast<std::uint32_t>((padded_height - c.kernel) / c.stride + 1),
          static_cast<std::uint32_t>((padded_width - c.kernel) / c.stride + 1), c.channels};
}

}  // namespace

std::string to_string(Shape shape) {
  return std::to_string(shape.height) + " x " + std::to_string(shape.width) + " x " +
         std::to_string(shape.channels);
}

Model::Model(Shape input, std::uint32_t classes, Loss loss) : input_(input), classes_(classes), loss_(loss) {
  if (input.size() == 0) {
    throw Failure(ExitCode::configuration, "the model's input is " + to_string(input) +
                                               ", which is empty: give height, width and channels");
  }
  if (classes < 2) {
    throw Failure(ExitCode::configuration,
                  "the model has " + std::to_string(classes) + " classes: a classifier needs at least 2");
  }
}

Layer Model::next(std::string name, LayerKind kind) const {
  Layer layer{std::move(name), kind, last(), last(), 0, 0, parameters()};
  return layer;
}

Model& Model::add(Layer layer) {
  require(std::none_of(layers_.begin(), layers_.end(), [&](const Layer& l) { return l.name == layer.name; }),
          layer, "has the name of another layer: names must differ");
  require(!layer.name.empty(), layer, "has no name: give it one");
  layers_.push_back(std::move(layer));
  return *this;
}

Model& Model::conv2d(std::string name, Conv2d options) {
  Layer layer = next(std::move(name), options);
  layer.output = convolved(layer, options);
  layer.biases = options.channels;
  layer.weights = std::uint64_t{options.channels} * options.kernel * options.kernel * layer.input.channels;
  return add(std::move(layer));
}

Model& Model::max_pool(std::uint32_t size) {
  Layer layer = next("max_pool" + std::to_string(layers_.size() + 1), MaxPool{size});
  layer.output = pooled(layer, size);
  return add(std::move(layer));
}

Model& Model::average_pool(std::uint32_t size) {
  Layer layer = next("average_pool" + std::to_string(layers_.size() + 1), AveragePool{size});
  layer.output = pooled(layer, size);
  return add(std::move(layer));
}

Model& Model::relu() { return add(next("relu" + std::to_string(layers_.size() + 1), Relu{})); }

Model& Model::dropout(double probability) {
  Layer layer = next("dropout" + std::to_string(layers_.size() + 1), Dropout{probability});
  require(probability >= 0 && probability < 1, layer,
          "would drop a share of " + std::to_string(probability) + ": give a probability in [0, 1)");
  return add(std::move(layer));
}

Model& Model::linear(std::string name, std::uint32_t outputs) {
  Layer layer = next(std::move(name), Linear{outputs});
  require(outputs > 0, layer, "has no outputs: give at least 1");
  layer.output = {1, 1, outputs};
  layer.biases = outputs;
  layer.weights = layer.input.size() * outputs;
  return add(std::move(layer));
}

void Model::check() const {
  if (parameters() == 0) {
    throw Failure(ExitCode::configuration,
                  "the model has no parameters: add a layer with weights, such as linear(\"out\", " +
                      std::to_string(classes_) + ")");
  }
  require(last().size() == classes_, layers_.back(),
          "delivers " + to_string(last()) + ", but there are " + std::to_string(classes_) +
              " classes: end the model with a linear layer of as many outputs");
}

Layout Model::layout() const {
  check();
  Layout layout;
  for (const Layer& layer : layers_) {
    if (layer.parameters() == 0) continue;
    CHECK(layout.size() == layer.offset, "layers and layout disagree about an offset");
    // Channels last, like the samples: oneDNN, the direct kernels and the linear layers read weights as they
    // lie.
    std::vector<std::uint64_t> shape{layer.biases, layer.fan_in()};
    if (const auto* c = std::get_if<Conv2d>(&layer.kind)) {
      shape = {c->channels, c->kernel, c->kernel, layer.input.channels};
    }
    append(layout, layer.name + ".weight", std::move(shape));
    append(layout, layer.name + ".bias", {layer.biases});
  }
  return layout;
}

void Model::initialize(std::span<float> values, std::uint64_t seed) const {
  check();
  CHECK(values.size() == parameters(), "the buffer has not the size of the model");
  std::uint64_t tensor = 0;
  for (const Layer& layer : layers_) {
    if (layer.parameters() == 0) continue;
    const double bound = 1 / std::sqrt(static_cast<double>(layer.fan_in()));
    // A sequence of its own for each tensor: a layer more at the end changes none before it.
    for (const auto part : {values.subspan(layer.offset, layer.weights),
                            values.subspan(layer.offset + layer.weights, layer.biases)}) {
      Random random(hash(seed, tensor++));
      for (float& value : part) value = static_cast<float>(bound * (2 * random.uniform() - 1));
    }
  }
}

std::uint64_t Model::parameters() const {
  return layers_.empty() ? 0 : layers_.back().offset + layers_.back().parameters();
}

double Model::flops_per_sample() const {
  double flops = 0;
  for (const Layer& layer : layers_) {
    if (layer.parameters() == 0) continue;
    // Every weight meets the sample once for each place of the output.
    const double places = static_cast<double>(layer.output.height) * layer.output.width;
    // The first layer with weights has no one before it who would want its gradient.
    const double products = layer.offset == 0 ? 2 : 3;
    flops += products * 2 * places * static_cast<double>(layer.weights);
  }
  return flops;
}

}  // namespace steelyard::nn
