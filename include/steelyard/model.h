// Model: the description of a network: a graph of ops (layers.h), the shapes between them, and the offset of
// each parameter tensor in the flat buffer. Network (nn/network.h) executes it.
//
//   const Model lenet = Model({28, 28, 1}, 10)
//       .conv2d("conv1", {.channels = 6, .kernel = 5, .padding = 2}).relu().max_pool(2)
//       .linear("fc", 10);
//
// For branches, input_value() returns a Value of the graph; the op added last is the output. Shapes are
// inferred as ops are added; adding an op that does not fit throws Failure (configuration). A Model is a
// value without scratch memory: it can be copied, and read from any thread.
//
// The flat buffer holds first the tensors with weight decay, then those without, then running averages. Each
// group is in the order of the graph. Tensors have the names, shapes and element order of PyTorch's modules:
// conv1.weight is [out][in / groups][row][column], fc.weight is [out][in].
//
// Stability: declarations in the headers of this folder keep their meaning within a minor version. All other
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

// The methods that add ops, shared by Model and Value. A Model appends to the op added last; a Value appends
// to itself, which makes branches possible:
//
//   Value y = x.conv2d("conv1", {.channels = 64, .kernel = 3, .padding = 1}).batch_norm("bn1").relu();
//   return y.conv2d("conv2", ...).add(x).relu();
//
// `name` is the prefix of the tensors' names: "conv1.weight". Ops without parameters get a generated name.
// Adding an op that does not fit throws Failure (configuration) with its name, input shapes and the remedy.
//
// CRTP: Self provides then_op(name, kind), which appends an op and returns a Result. Every op of
// STEELYARD_OPS has a method; some also have a shorthand.
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

// A node of the graph.
struct Node {
  std::string name;  // "conv1"; without parameters: kind and index of the node, "relu2"
  OpKind kind;
  std::vector<std::uint32_t> inputs;     // indices of earlier nodes
  Shape shape{};                         // of the output
  std::vector<std::uint32_t> tensors{};  // indices into Model::tensors(), in the order of the op's specs
};

// One parameter tensor. Sizes and offsets are in floats.
struct Tensor {
  ParameterSpec spec;  // with the full name: "conv1.weight"
  std::uint64_t size = 0;
  std::uint64_t offset = 0;  // in the flat buffer
};

class Model;

// The output of a node of a model under construction. Valid while the model lives and is not moved.
class Value : public Builder<Value, Value> {
 public:
  Value add(Value other) const { return join({}, Add{}, {*this, other}); }
  // Multiplies each channel by its entry of `factors`, a vector (squeeze and excite).
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

// Concatenates channels.
Value concat(const std::vector<Value>& values);

class Model : public Builder<Model, Model&> {
 public:
  // `input` is the shape of one sample of the data set; `classes` is the number of output scores per label,
  // or of targets if the loss takes them.
  Model(Shape input, std::uint32_t classes, Loss loss = Loss::softmax_cross_entropy);

  Value input_value() { return {*this, 0}; }

  // From here on, layers of the same name share their parameters (as in ALBERT). Before this call, a name
  // that is used twice throws Failure.
  Model& share_parameters() { return sharing_ = true, *this; }
  // Label smoothing, 0 <= share < 1. Targets of cross-entropy become (1 - share) [label] + share / classes
  // (Szegedy et al. 2016). Throws Failure (configuration) if the loss takes targets.
  Model& smooth_labels(double share);
  // Sets the largest micro-batch, one of micro_batch_sizes. Use a small one for large models, so that
  // activations stay in the caches. Batch norm takes its statistics over one micro-batch.
  Model& compute_at_once(std::uint32_t samples);
  // Batch norm takes its statistics over a whole share, which is one micro-batch of any size up to `most`
  // samples, 1 to largest_share. They then depend on how a round is divided.
  Model& normalize_shares(std::uint32_t most);
  // Sets the precision of matrix products (device_kind.h).
  Model& multiply_in(Precision precision) { return precision_ = precision, *this; }
  // Networks keep only some activations from forward to backward, and compute the others again: less memory,
  // more time, the same bits.
  Model& recompute_activations(bool on = true) { return recomputes_ = on, *this; }

  // Adds an op that reads these nodes, for programs that choose ops at run time; returns its node.
  std::uint32_t add(std::string name, OpKind kind, std::vector<std::uint32_t> inputs);

  // Throws Failure (configuration) if the output is not one score per class (and label) or target, if the
  // output of an op is never used, or if there are no parameters. layout(), initialize() and Network check
  // this too.
  void check() const;

  // slice_size is left at 0; the job sets it.
  [[nodiscard]] Layout layout() const;

  // Writes the initial parameters. Each tensor is a pure function of the seed and its index in the graph.
  void initialize(std::span<float> parameters, std::uint64_t seed) const;

  [[nodiscard]] Shape input() const { return nodes_.front().shape; }
  [[nodiscard]] std::uint32_t classes() const { return classes_; }
  [[nodiscard]] Loss loss() const { return loss_; }
  [[nodiscard]] double smoothing() const { return smoothing_; }
  // Labels per sample: the number of tokens of the output.
  [[nodiscard]] std::uint32_t labels() const;
  // Positions that must be computed together for the statistics of batch norm; 1 without batch norm, or if
  // shares are normalised.
  [[nodiscard]] std::uint32_t grain() const;
  [[nodiscard]] std::uint32_t micro_batch() const { return micro_batch_; }
  [[nodiscard]] bool normalizes_shares() const { return normalizes_shares_; }
  [[nodiscard]] Precision precision() const { return precision_; }
  [[nodiscard]] bool recomputes_activations() const { return recomputes_; }
  // In topological order: node 0 is the input, the last one the output.
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<Tensor>& tensors() const { return tensors_; }
  [[nodiscard]] std::vector<Shape> input_shapes(const Node& node) const;
  [[nodiscard]] std::uint64_t parameters() const { return parameters_; }  // floats in the flat buffer

  // Floating-point operations to train on one sample; a multiply-add counts as two. Includes the forward
  // pass, the gradients of the weights and, where needed, of the inputs. Counts only convolutions, linear
  // layers and attention.
  [[nodiscard]] double flops_per_sample() const;

 private:
  friend class Value;
  friend class Builder<Model, Model&>;
  Model& then_op(std::string name, OpKind kind);
  void add_tensors(Node& node);
  void place_tensors();

  std::uint32_t classes_;
  Loss loss_;
  double smoothing_ = 0;
  std::uint32_t micro_batch_;
  Precision precision_ = Precision::float32;
  bool sharing_ = false, normalizes_shares_ = false, recomputes_ = false;
  std::vector<Node> nodes_;
  std::vector<Tensor> tensors_;  // in the order of the graph
  std::uint64_t parameters_ = 0;
};

// A row's function makes the model for this input shape and number of classes. `steelyard help model` lists
// the rows.
using ModelTable = Choices<Model(Shape input, std::uint32_t classes, const Options& options)>;

std::string to_string(Shape shape);  // "28 x 28 x 1"

}  // namespace steelyard::nn
