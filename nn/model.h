// A model: the description of a network, not the network itself. Which layers follow each other, what shape
// lies between them, and where each tensor lies in the flat buffer of parameters.
//
//   const Model lenet = Model({28, 28, 1}, 10)
//       .conv2d("conv1", {.channels = 6, .kernel = 5, .padding = 2}).relu().max_pool(2)
//       .linear("fc", 10);
//
// Shapes are inferred as layers are added; a layer that does not fit throws Failure (configuration) at once
// and names itself, the shape it was given and the remedy. A Model is a value without scratch memory: copy it
// freely, read it from any thread. Network (nn/network.h) runs it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "core/layout.h"
#include "nn/shape.h"

namespace steelyard::nn {

enum class Loss : std::uint8_t { softmax_cross_entropy, hinge };

// The kinds of layers. Convolution: a square kernel, as much padding on all four sides. Pools: windows of
// size x size that do not overlap; rows and columns that fill no window are left out.
struct Conv2d {
  std::uint32_t channels = 0;  // of the output
  std::uint32_t kernel = 0;
  std::uint32_t stride = 1;
  std::uint32_t padding = 0;
};
struct MaxPool {
  std::uint32_t size = 2;
};
struct AveragePool {
  std::uint32_t size = 2;
};
struct Relu {};
struct Dropout {
  double probability = 0.5;  // of a feature to be dropped
};
struct Linear {
  std::uint32_t outputs = 0;
};
using LayerKind = std::variant<Conv2d, MaxPool, AveragePool, Relu, Dropout, Linear>;

// One layer in its place: what it is, between which shapes, and where its parameters lie.
struct Layer {
  std::string name;  // "conv1"; layers without parameters are named by kind and place: "relu2"
  LayerKind kind;
  Shape input, output;
  std::uint64_t weights = 0;  // floats in the tensor NAME.weight; 0 if the layer has no parameters
  std::uint64_t biases = 0;   // floats in NAME.bias
  std::uint64_t offset = 0;   // of the weights in the flat buffer; the biases follow

  [[nodiscard]] std::uint64_t parameters() const { return weights + biases; }
  [[nodiscard]] std::uint64_t fan_in() const { return biases == 0 ? 0 : weights / biases; }
};

class Model {
 public:
  // `input` is the shape of one sample as the data set delivers it; `classes` is how many scores come out.
  Model(Shape input, std::uint32_t classes, Loss loss = Loss::softmax_cross_entropy);

  // Each adds one layer behind the last. Names become those of the tensors and must differ.
  Model& conv2d(std::string name, Conv2d options);
  Model& max_pool(std::uint32_t size);
  Model& average_pool(std::uint32_t size);
  Model& relu();
  Model& dropout(double probability);
  // Takes the whole sample as one vector, in the order of nn/shape.h (channels last).
  Model& linear(std::string name, std::uint32_t outputs);

  // Throws Failure (configuration) if the last layer does not deliver one number a class, or if nothing can
  // be learned. The functions below ask the same, so a Network never sees half a model.
  void check() const;

  // NAME.weight is [out][row][column][in] of a convolution and [out][in] of a linear layer; NAME.bias is
  // [out]. The grid of slices is the job's: slice_size stays 0.
  [[nodiscard]] Layout layout() const;

  // Uniform in +-1/sqrt(fan_in), weights and biases alike (He et al. 2015 with a = sqrt(5), the default of
  // PyTorch). Each tensor is a pure function of the seed and its place in the layout.
  void initialize(std::span<float> parameters, std::uint64_t seed) const;

  [[nodiscard]] Shape input() const { return input_; }
  [[nodiscard]] std::uint32_t classes() const { return classes_; }
  [[nodiscard]] Loss loss() const { return loss_; }
  [[nodiscard]] const std::vector<Layer>& layers() const { return layers_; }
  [[nodiscard]] std::uint64_t parameters() const;  // floats in the flat buffer

  // Floating-point operations of one training sample: a multiply-add counts two; forward, gradient of the
  // weights, and gradient of the input except for the first layer with weights, which needs none.
  [[nodiscard]] double flops_per_sample() const;

 private:
  // The shape that the next layer gets.
  [[nodiscard]] Shape last() const { return layers_.empty() ? input_ : layers_.back().output; }
  Layer next(std::string name, LayerKind kind) const;
  Model& add(Layer layer);

  Shape input_;
  std::uint32_t classes_;
  Loss loss_;
  std::vector<Layer> layers_;
};

std::string to_string(Shape shape);  // "28 x 28 x 1"

}  // namespace steelyard::nn
