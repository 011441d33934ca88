#include <steelyard/micro_batch.h>
#include <steelyard/model.h>

#include <algorithm>
#include <set>

#include "core/check.h"
#include "core/error.h"
#include "core/random.h"

namespace steelyard::nn {
namespace {

[[noreturn]] void refuse(const Node& node, const std::vector<Shape>& inputs, const std::string& trouble) {
  std::string given;
  for (const Shape shape : inputs) given += (given.empty() ? "" : " and ") + to_string(shape);
  throw Failure(ExitCode::configuration, "model layer '" + node.name + "' gets " + given + " and " + trouble);
}

// The part of the flat buffer for a tensor: tensors of one kind are adjacent, which keeps the number of
// ranges small.
int part_of(const ParameterSpec& spec) {
  if (spec.rule != Rule::step) return 2;
  return spec.decay ? 0 : 1;
}

// "fc" and "weight" make "fc.weight", "in_proj" and "_weight" make "in_proj_weight", "cls" and "" make "cls".
std::string tensor_name(const std::string& layer, const std::string& tensor) {
  return layer + (tensor.empty() || tensor.front() == '_' ? "" : ".") + tensor;
}

std::uint64_t product(const std::vector<std::uint64_t>& shape) {
  std::uint64_t size = 1;
  for (const std::uint64_t length : shape) size *= length;
  return size;
}

void begin(std::span<float> values, Initializer how, Random random) {
  for (float& value : values) {
    switch (how.kind) {
      case Initializer::Kind::constant:
        value = static_cast<float>(how.value);
        break;
      case Initializer::Kind::uniform:
        value = static_cast<float>(how.value * (2 * random.uniform() - 1));
        break;
      case Initializer::Kind::normal:
        value = static_cast<float>(how.value * random.normal());
        break;
    }
  }
}

}  // namespace

std::string to_string(Shape shape) {
  return std::to_string(shape.height) + " x " + std::to_string(shape.width) + " x " +
         std::to_string(shape.channels);
}

Shape Value::shape() const { return model_->nodes_[node_].shape; }

Value Value::join(std::string name, OpKind kind, const std::vector<Value>& inputs) const {
  std::vector<std::uint32_t> nodes;
  for (const Value& input : inputs) {
    CHECK(input.model_ == model_, "values of two models meet in one op");
    nodes.push_back(input.node_);
  }
  return {*model_, model_->add(std::move(name), std::move(kind), std::move(nodes))};
}

Value concat(const std::vector<Value>& values) {
  CHECK(values.size() > 1, "concat needs two values or more");
  return values.front().join({}, Concat{}, values);
}

Model::Model(Shape input, std::uint32_t classes, Loss loss)
    : classes_(classes), loss_(loss), micro_batch_(largest_micro_batch) {
  if (input.size() == 0) {
    throw Failure(ExitCode::configuration, "the model's input is " + to_string(input) +
                                               ", which is empty: give height, width and channels");
  }
  if (classes < (takes_targets(loss) ? 1U : 2U)) {
    throw Failure(ExitCode::configuration, takes_targets(loss)
                                               ? "the model has no targets: it needs at least 1"
                                               : "the model has " + std::to_string(classes) +
                                                     " classes: a classifier needs at least 2; to predict "
                                                     "numbers, choose the loss mse, mae or bce");
  }
  nodes_.push_back({"input", Tokens{}, {}, input});
}

Model& Model::smooth_labels(double share) {
  if (!(share >= 0 && share < 1)) {
    throw Failure(ExitCode::configuration,
                  "label smoothing is " + std::to_string(share) + ": give a share of at least 0 and below 1");
  }
  if (share > 0 && takes_targets(loss_)) {
    throw Failure(ExitCode::configuration,
                  "label smoothing is " + std::to_string(share) +
                      ", and the loss takes targets instead of labels: leave smoothing out");
  }
  smoothing_ = share;
  return *this;
}

Model& Model::compute_at_once(std::uint32_t samples) {
  CHECK(std::find(micro_batch_sizes.begin(), micro_batch_sizes.end(), samples) != micro_batch_sizes.end(),
        "there are no micro-batches of this size");
  micro_batch_ = samples;
  return *this;
}

Model& Model::normalize_shares(std::uint32_t most) {
  CHECK(most > 0 && most <= largest_share, "there are no shares of this size");
  micro_batch_ = most;
  normalizes_shares_ = true;
  return *this;
}

Model& Model::then_op(std::string name, OpKind kind) {
  add(std::move(name), std::move(kind), {static_cast<std::uint32_t>(nodes_.size() - 1)});
  return *this;
}

std::uint32_t Model::add(std::string name, OpKind kind, std::vector<std::uint32_t> inputs) {
  const auto place = static_cast<std::uint32_t>(nodes_.size());
  Node node{std::move(name), std::move(kind), std::move(inputs)};
  const std::vector<Shape> shapes = input_shapes(node);
  std::visit(
      [&](const auto& op) {
        const bool learns = !op.parameters(shapes).empty();
        if (learns && node.name.empty()) {
          node.name = name_of(node.kind);
          refuse(node, shapes, "has no name: give it one");
        }
        if (node.name.empty()) node.name = name_of(node.kind) + std::to_string(place);
        try {
          node.shape = op.shape(shapes);
        } catch (const Failure& failure) {
          refuse(node, shapes, failure.what());
        }
      },
      node.kind);
  add_tensors(node);
  nodes_.push_back(std::move(node));
  return place;
}

void Model::add_tensors(Node& node) {
  const std::vector<Shape> shapes = input_shapes(node);
  for (ParameterSpec& spec : std::visit([&](const auto& op) { return op.parameters(shapes); }, node.kind)) {
    spec.name = tensor_name(node.name, spec.name);
    const auto same = std::find_if(tensors_.begin(), tensors_.end(),
                                   [&](const Tensor& p) { return p.spec.name == spec.name; });
    node.tensors.push_back(static_cast<std::uint32_t>(same - tensors_.begin()));
    if (same != tensors_.end()) {
      if (!sharing_) refuse(node, shapes, "has the name of another layer: names must differ");
      if (same->spec.shape != spec.shape) refuse(node, shapes, "shares parameters of another shape");
      continue;
    }
    tensors_.push_back({std::move(spec)});
    tensors_.back().size = product(tensors_.back().spec.shape);
  }
  place_tensors();
}

void Model::place_tensors() {
  parameters_ = 0;
  for (const int part : {0, 1, 2}) {
    for (Tensor& tensor : tensors_) {
      if (part_of(tensor.spec) != part) continue;
      tensor.offset = parameters_;
      parameters_ += tensor.size;
    }
  }
}

std::vector<Shape> Model::input_shapes(const Node& node) const {
  std::vector<Shape> shapes;
  for (const std::uint32_t input : node.inputs) shapes.push_back(nodes_[input].shape);
  return shapes;
}

void Model::check() const {
  if (tensors_.empty()) {
    throw Failure(ExitCode::configuration,
                  "the model has no parameters: add a layer with weights, such as linear(\"out\", " +
                      std::to_string(classes_) + ")");
  }
  const Node& last = nodes_.back();
  if (last.shape.channels != classes_ || last.shape.height != 1) {
    refuse(last, input_shapes(last),
           "delivers " + to_string(last.shape) + ", but there are " + std::to_string(classes_) +
               (takes_targets(loss_) ? " targets" : " classes") +
               ": end the model with a linear layer of as many outputs");
  }
  if (takes_targets(loss_) && labels() > 1) {
    refuse(last, input_shapes(last),
           "delivers " + std::to_string(labels()) +
               " rows of outputs, and a loss of targets takes one: end the model with a linear layer");
  }
  std::set<std::uint32_t> used;
  for (const Node& node : nodes_) used.insert(node.inputs.begin(), node.inputs.end());
  for (std::uint32_t i = 0; i + 1 < nodes_.size(); ++i) {
    if (!used.contains(i)) {
      refuse(nodes_[i], input_shapes(nodes_[i]), "is not used by any layer: add the output layer last");
    }
  }
}

std::uint32_t Model::labels() const { return nodes_.back().shape.width; }

std::uint32_t Model::grain() const {
  const bool mixes = std::any_of(nodes_.begin() + 1, nodes_.end(),
                                 [](const Node& n) { return std::holds_alternative<BatchNorm>(n.kind); });
  return mixes && !normalizes_shares_ ? micro_batch_ : 1;
}

Layout Model::layout() const {
  check();
  std::vector<const Tensor*> sorted;
  for (const Tensor& tensor : tensors_) sorted.push_back(&tensor);
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->offset < b->offset; });
  Layout layout;
  for (const Tensor* tensor : sorted) {
    const ParameterSpec& spec = tensor->spec;
    CHECK(layout.size() == tensor->offset, "parameters and layout disagree about an offset");
    append(layout, spec.name, spec.shape, spec.rule, spec.decay ? 1 : 0, spec.keep);
  }
  return layout;
}

void Model::initialize(std::span<float> values, std::uint64_t seed) const {
  check();
  CHECK(values.size() == parameters_, "the buffer does not have the size of the model");
  // A separate sequence for each tensor, so that a layer appended at the end changes none before it.
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const Tensor& p = tensors_[i];
    begin(values.subspan(p.offset, p.size), p.spec.begins, Random(hash(seed, i)));
  }
}

double Model::flops_per_sample() const {
  double flops = 0;
  std::vector<bool> learns(nodes_.size());  // whether a node's value depends on parameters
  for (std::size_t i = 1; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const bool before = std::any_of(node.inputs.begin(), node.inputs.end(),
                                    [&](std::uint32_t input) { return learns[input]; });
    learns[i] = before || !node.tensors.empty();
    const std::vector<Shape> shapes = input_shapes(node);
    const double forward = 2 * std::visit([&](const auto& op) { return op.products(shapes); }, node.kind);
    // Attention has no weights, but two products with gradients for both factors.
    const bool attention = std::holds_alternative<Attention>(node.kind);
    flops += forward * (attention ? 3 : 1 + (node.tensors.empty() ? 0 : 1) + (before ? 1 : 0));
  }
  return flops;
}

}  // namespace steelyard::nn
