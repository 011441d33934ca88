// A model: the description of a network, not the network itself. A graph of ops (layers.h), the shapes
// between them, and where each tensor of parameters lies in the flat buffer.
//
//   const Model lenet = Model({28, 28, 1}, 10)
//       .conv2d("conv1", {.channels = 6, .kernel = 5, .padding = 2}).relu().max_pool(2)
//       .linear("fc", 10);
//
// Where a row is not enough, input_value() gives a Value to branch from; what is added last is the output.
// Shapes are inferred as ops are added; one that does not fit throws Failure (configuration) at once. A Model
// is a value without scratch memory: copy it freely, read it from any thread. Network (nn/network.h) runs it.
//
// The flat buffer holds first what optimizers step with decay, then what they step without, then running
// averages; each in the order of the graph. Tensors have the names, shapes and order of elements of
// PyTorch's modules: conv1.weight is [out][in / groups][row][column], fc.weight is [out][in].
//
// Promised: the meaning of what the headers in this folder declare stays within a minor version. All other
// headers may change with any release.
#pragma once

#include <steelyard/choice.h>
#include <steelyard/device_kind.h>
#include <steelyard/layers.h>
#include <steelyard/parameters.h>
#include <steelyard/shape.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace steelyard::nn {

// The words in which a model is described. A Model has them, and adds behind what was added last;
// a Value has them, and adds behind itself. So a row of layers reads as a sentence, and a branch has a name:
//
//   Value y = x.conv2d("conv1", {.channels = 64, .kernel = 3, .padding = 1}).batch_norm("bn1").relu();
//   return y.conv2d("conv2", ...).add(x).relu();
//
// `name` becomes that of the tensors: "conv1.weight". Ops without parameters name themselves. An op that does
// not fit throws Failure (configuration) at once, naming itself, the shapes it was given and the remedy.
//
// Self has then_op(name, kind), which adds an op behind it and returns a Result. Each op of STEELYARD_OPS has
// its word; some have a shorter one beside it.
template <class Self, class Result>
class Builder {
 public:
#define STEELYARD_NAMED(Kind, word) \
  Result word(std::string name, const Kind& options = Kind()) { return then(std::move(name), options); }
#define STEELYARD_BARE(Kind, word)     \
  template <class... Options>          \
  Result word(Options... options) {    \
    return then({}, Kind(options...)); \
  }
#define STEELYARD_JOINED(Kind, word)
  STEELYARD_OPS(STEELYARD_NAMED, STEELYARD_BARE, STEELYARD_JOINED)
#undef STEELYARD_NAMED
#undef STEELYARD_BARE
#undef STEELYARD_JOINED

  Result linear(std::string name, std::uint32_t outputs) { return linear(std::move(name), Linear{outputs}); }
  Result relu() { return activation(Activation::Kind::relu); }
  Result relu6() { return activation(Activation::Kind::relu6); }
  Result gelu() { return activation(Activation::Kind::gelu); }
  Result silu() { return activation(Activation::Kind::silu); }
  Result hard_swish() { return activation(Activation::Kind::hard_swish); }
  Result sigmoid() { return activation(Activation::Kind::sigmoid); }
  Result tanh() { return activation(Activation::Kind::tanh); }

 private:
  Result then(std::string name, OpKind kind) {
    return static_cast<Self*>(this)->then_op(std::move(name), std::move(kind));
  }
};

// One op in its place.
struct Node {
  std::string name;  // "conv1"; those without parameters are named by kind and place: "relu2"
  OpKind kind;
  std::vector<std::uint32_t> inputs;     // nodes before this one
  Shape shape{};                         // of what it delivers
  std::vector<std::uint32_t> tensors{};  // of the model, in the order of their specs
};

// One tensor of parameters.
struct Tensor {
  ParameterSpec spec;  // its name is whole: "conv1.weight"
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // in the flat buffer
};

class Model;

// What a node of a model under construction delivers. Valid while the model lives and is not moved.
class Value : public Builder<Value, Value> {
 public:
  Value add(Value other) const { return join({}, Add{}, {*this, other}); }
  // Each channel times a number of `factors`, a vector (squeeze and excite).
  Value scale(Value factors) const { return join({}, Scale{}, {*this, factors}); }
  friend Value concat(const std::vector<Value>& values);

  [[nodiscard]] Shape shape() const;
  [[nodiscard]] Model& model() const { return *model_; }

 private:
  friend class Model;
  friend class Builder<Value, Value>;
  Value(Model& model, std::uint32_t node) : model_(&model), node_(node) {}
  Value then_op(std::string name, OpKind kind) const {
    return join(std::move(name), std::move(kind), {*this});
  }
  [[nodiscard]] Value join(std::string name, OpKind kind, const std::vector<Value>& inputs) const;

  Model* model_;
  std::uint32_t node_;
};

// Channels behind each other.
Value concat(const std::vector<Value>& values);

class Model : public Builder<Model, Model&> {
 public:
  // `input` is the shape of one sample as the data set delivers it; `classes` is how many scores come out,
  // for each label of a sample.
  Model(Shape input, std::uint32_t classes, Loss loss = Loss::softmax_cross_entropy);

  Value input_value() { return {*this, 0}; }

  // From here on a name that was used stands for the same parameters (ALBERT); before, names must differ.
  Model& share_parameters() { return sharing_ = true, *this; }
  // Targets of cross-entropy: (1 - share) for the label and share / classes for all (Szegedy et al. 2016).
  Model& smooth_labels(double share);
  // Samples that a network computes at once, at the most: one of micro_batch_sizes. Smaller suits large
  // models, whose activations then stay in the caches.
  Model& compute_at_once(std::uint32_t samples);
  Model& multiply_in(Precision precision) { return precision_ = precision, *this; }

  // Throws Failure (configuration) if the output is not a number a class (and label), if something is
  // computed in vain, or if nothing can be learned. The functions below ask the same, so a Network never sees
  // half a model.
  void check() const;

  // The grid of slices is the job's: slice_size stays 0.
  [[nodiscard]] Layout layout() const;

  // Each tensor is a pure function of the seed and its place in the graph.
  void initialize(std::span<float> parameters, std::uint64_t seed) const;

  [[nodiscard]] Shape input() const { return nodes_.front().shape; }
  [[nodiscard]] std::uint32_t classes() const { return classes_; }
  [[nodiscard]] Loss loss() const { return loss_; }
  [[nodiscard]] double smoothing() const { return smoothing_; }
  // Of each sample: the tokens of the output.
  [[nodiscard]] std::uint32_t labels() const;
  // Positions whose samples must be computed together, for batch norm's statistics: 1 if there are none.
  [[nodiscard]] std::uint32_t grain() const;
  [[nodiscard]] std::uint32_t micro_batch() const { return micro_batch_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  // Node 0 is the input, the last one the output; each stands behind its inputs.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  [[nodiscard]] std::vector<Shape> input_shapes(const Node& node) const;
  [[nodiscard]] std::uint64_t parameters() const { return parameters_; }  // floats in the flat buffer

  // Floating-point operations of one training sample: a multiply-add counts two; forward, gradient of the
  // weights, and gradient of the input where it is needed. Products only: convolutions, linear layers,
  // attention.
  [[nodiscard]] double flops_per_sample() const;

 private:
  friend class Value;
  friend class Builder<Model, Model&>;
  Model& then_op(std::string name, OpKind kind);
  std::uint32_t add(std::string name, OpKind kind, std::vector<std::uint32_t> inputs);
  void add_tensors(Node& node);
  void place_tensors();

  std::uint32_t classes_;
  Loss loss_;
  double smoothing_ = 0;
  std::uint32_t micro_batch_;
  Precision precision_ = Precision::float32;
  bool sharing_ = false;
  std::vector<Node> nodes_;
  std::vector<Tensor> tensors_;  // in the order of the graph
  std::uint64_t parameters_ = 0;
};

// A row makes the model for samples of this shape in so many classes. `steelyard help model` shows the rows.
using ModelTable = Choices<Model(Shape input, std::uint32_t classes, const Options& options)>;

std::string to_string(Shape shape);  // "28 x 28 x 1"

}  // namespace steelyard::nn
