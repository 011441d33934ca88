#include "app/export/onnx.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "app/export/forms.h"
#include "app/export/onnx_graph.h"
#include "core/json.h"
#include "core/text.h"

namespace steelyard {
namespace {

using Integers = OnnxGraph::Integers;
using Names = std::vector<std::string>;

std::vector<float> floats_of(const std::vector<double>& values) { return {values.begin(), values.end()}; }

Integers extents_of(nn::Shape shape, Form form) {
  const std::int64_t height = shape.height, width = shape.width, channels = shape.channels;
  if (form == Form::picture) return {channels, height, width};
  if (form == Form::sequence) return {height * width, channels};
  return {form == Form::indices ? height * width : height * width * channels};
}

// A value of the graph.
struct OnnxValue {
  std::string name;
  Form form;
  nn::Shape shape;
};

// Adds the operators of one node of the model.
struct Lowering {
  OnnxGraph& graph;
  const std::vector<OnnxValue>& in;  // in the form that the node wants
  const Names& tensors;              // of the node
  const nn::Shape& shape;            // of the output

  [[nodiscard]] const std::string& x() const { return in[0].name; }
  [[nodiscard]] std::int64_t channel_axis() const { return in[0].form == Form::sequence ? 2 : 1; }
  std::string scaled(const std::string& value, double by) const {
    return graph.node("Mul", {value, graph.number(static_cast<float>(by))});
  }
  std::string reshaped(const std::string& value, const Integers& to) const {
    return graph.node("Reshape", {value, graph.integers(to)});  // 0: as before
  }
  std::string transposed(const std::string& value, const Integers& order) const {
    return graph.node("Transpose", {value}, {{"perm", order}});
  }

  template <class Pool>
  std::string pooled(const char* op, const Pool& pool, OnnxGraph::Attributes more) const {
    const std::int64_t size = pool.size, stride = pool.stride, padding = pool.padding;
    more.insert(more.end(), {{"kernel_shape", Integers{size, size}},
                             {"strides", Integers{stride, stride}},
                             {"pads", Integers(4, padding)}});
    return graph.node(op, {x()}, more);
  }

  std::string operator()(const nn::Conv2d& op) const {
    const std::int64_t stride = op.stride, rows = op.padding.rows, columns = op.padding.columns;
    Names inputs{x()};
    inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    return graph.node("Conv", inputs,
                      {{"kernel_shape", Integers{op.kernel.rows, op.kernel.columns}},
                       {"strides", Integers{stride, stride}},
                       {"pads", Integers{rows, columns, rows, columns}},
                       {"group", std::int64_t{op.groups}}});
  }
  std::string operator()(const nn::MaxPool& op) const { return pooled("MaxPool", op, {}); }
  std::string operator()(const nn::AveragePool& op) const {
    return pooled("AveragePool", op, {{"count_include_pad", std::int64_t{1}}});
  }
  std::string operator()(const nn::GlobalAveragePool&) const {
    if (in[0].form == Form::vector) return x();
    const Integers axes = in[0].form == Form::picture ? Integers{2, 3} : Integers{1};
    return graph.node("ReduceMean", {x()}, {{"axes", axes}, {"keepdims", std::int64_t{0}}});
  }
  std::string operator()(const nn::ChannelShuffle& op) const {
    const std::int64_t groups = op.groups, each = shape.channels / op.groups;
    const std::string rows = reshaped(x(), {0, groups, each, std::int64_t{shape.height} * shape.width});
    return reshaped(transposed(rows, {0, 2, 1, 3}), {0, groups * each, shape.height, shape.width});
  }
  std::string operator()(const nn::ChannelSlice& op) const {
    return graph.node("Slice", {x(), graph.integers({op.begin}), graph.integers({op.end}),
                                graph.integers({channel_axis()})});
  }
  std::string operator()(const nn::Activation& op) const;
  std::string operator()(const nn::Dropout&) const { return x(); }
  std::string operator()(const nn::Linear&) const {
    Names inputs{x()};
    inputs.insert(inputs.end(), tensors.begin(), tensors.end());
    return graph.node("Gemm", inputs, {{"transB", std::int64_t{1}}});
  }
  std::string operator()(const nn::TokenLinear&) const {
    const std::string product = graph.node("MatMul", {x(), transposed(tensors[0], {1, 0})});
    return tensors.size() == 1 ? product : graph.node("Add", {product, tensors[1]});
  }
  std::string operator()(const nn::BatchNorm& op) const {
    return graph.node("BatchNormalization", {x(), tensors[0], tensors[1], tensors[2], tensors[3]},
                      {{"epsilon", static_cast<float>(op.epsilon)}});
  }
  std::string operator()(const nn::LayerNorm& op) const {
    return graph.node("LayerNormalization", {x(), tensors[0], tensors[1]},
                      {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(op.epsilon)}});
  }
  // Each group as one channel of an instance norm, then weight and bias of each channel.
  std::string operator()(const nn::GroupNorm& op) const {
    const std::vector<float> ones(op.groups, 1), zeros(op.groups, 0);
    const std::int64_t groups = op.groups, channels = shape.channels;
    const std::string normed = graph.node(
        "InstanceNormalization",
        {reshaped(x(), {0, groups, -1}), graph.floats({groups}, ones), graph.floats({groups}, zeros)},
        {{"epsilon", static_cast<float>(op.epsilon)}});
    const std::string whole = reshaped(normed, {0, channels, shape.height, shape.width});
    const std::string weighted = graph.node("Mul", {whole, reshaped(tensors[0], {channels, 1, 1})});
    return graph.node("Add", {weighted, reshaped(tensors[1], {channels, 1, 1})});
  }
  std::string operator()(const nn::Add&) const { return graph.node("Add", {x(), in[1].name}); }
  // The factors are a vector in the form of the first input: [channel][1][1] or [1][feature].
  std::string operator()(const nn::Scale&) const { return graph.node("Mul", {x(), in[1].name}); }
  std::string operator()(const nn::Concat&) const {
    Names inputs;
    for (const OnnxValue& value : in) inputs.push_back(value.name);
    return graph.node("Concat", inputs, {{"axis", channel_axis()}});
  }
  std::string operator()(const nn::Embedding&) const { return graph.node("Gather", {tensors[0], x()}); }
  std::string operator()(const nn::PositionEmbedding& op) const {
    const std::int64_t rows = op.first_only ? 1 : in[0].shape.width, axis = op.batch_axis ? 1 : 0;
    const std::string used = graph.node(
        "Slice", {tensors[0], graph.integers({0}), graph.integers({rows}), graph.integers({axis})});
    return graph.node("Add", {x(), used});
  }
  std::string operator()(const nn::ClassToken&) const {
    const std::string samples =
        graph.node("Shape", {x()}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
    const std::string extents =
        graph.node("Concat", {samples, graph.integers({1, shape.channels})}, {{"axis", std::int64_t{0}}});
    return graph.node("Concat", {graph.node("Expand", {tensors[0], extents}), x()},
                      {{"axis", std::int64_t{1}}});
  }
  std::string operator()(const nn::SelectToken& op) const {
    return graph.node("Gather", {x(), graph.index(op.token)}, {{"axis", std::int64_t{1}}});
  }
  std::string operator()(const nn::Tokens&) const { return x(); }
  std::string operator()(const nn::Attention& op) const;
};

std::string Lowering::operator()(const nn::Activation& op) const {
  using Kind = nn::Activation::Kind;
  const auto one_plus = [&](const std::string& v) { return graph.node("Add", {v, graph.number(1)}); };
  switch (op.kind) {
    case Kind::relu:
      return graph.node("Relu", {x()});
    case Kind::relu6:
      return graph.node("Clip", {x(), graph.number(0), graph.number(6)});
    case Kind::gelu: {
      const std::string erf = graph.node("Erf", {scaled(x(), std::numbers::sqrt2 / 2)});
      return graph.node("Mul", {scaled(x(), 0.5), one_plus(erf)});
    }
    case Kind::gelu_tanh: {
      const std::string square = scaled(graph.node("Mul", {x(), x()}), 0.044715);
      const std::string inner = graph.node("Mul", {x(), one_plus(square)});
      const std::string tanh = graph.node("Tanh", {scaled(inner, std::sqrt(2 / std::numbers::pi))});
      return graph.node("Mul", {scaled(x(), 0.5), one_plus(tanh)});
    }
    case Kind::silu:
      return graph.node("Mul", {x(), graph.node("Sigmoid", {x()})});
    case Kind::hard_swish:
      return graph.node("HardSwish", {x()});
    case Kind::hard_sigmoid:
      return graph.node("HardSigmoid", {x()}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
    case Kind::sigmoid:
      return graph.node("Sigmoid", {x()});
    case Kind::tanh:
      return graph.node("Tanh", {x()});
  }
  return x();
}

std::string Lowering::operator()(const nn::Attention& op) const {
  const std::int64_t tokens = shape.width, features = shape.channels, heads = op.heads;
  const std::int64_t each = features / heads;
  const Names parts = graph.split(x(), 2, 3);
  const auto by_head = [&](const std::string& part, const Integers& order) {
    return transposed(reshaped(part, {0, tokens, heads, each}), order);
  };
  const std::string query = by_head(parts[0], {0, 2, 1, 3}), key = by_head(parts[1], {0, 2, 3, 1});
  std::string scores = scaled(graph.node("MatMul", {query, key}), 1 / std::sqrt(static_cast<double>(each)));
  if (op.causal) {
    std::vector<float> mask(static_cast<std::size_t>(tokens * tokens), 0);
    for (std::int64_t t = 0; t < tokens; ++t) {
      for (std::int64_t later = t + 1; later < tokens; ++later)
        mask[static_cast<std::size_t>(t * tokens + later)] = -std::numeric_limits<float>::infinity();
    }
    scores = graph.node("Add", {scores, graph.floats({tokens, tokens}, mask)});
  }
  const std::string weights = graph.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const std::string joined = graph.node("MatMul", {weights, by_head(parts[2], {0, 2, 1, 3})});
  return reshaped(transposed(joined, {0, 2, 1, 3}), {0, tokens, features});
}

// Writes one model, node by node.
class OnnxWriter {
 public:
  explicit OnnxWriter(const ExportedModel& exported)
      : exported_(exported), model_(exported.model), forms_(forms_of(model_)) {}

  std::string file() {
    values_.push_back(input());
    for (std::size_t i = 1; i < model_.nodes().size(); ++i) add(i);
    const OnnxValue scores = converted(values_.back(), form_of_scores(model_));
    graph_.identity(in_units_of_data(scores.name), "scores");
    Names outputs{"scores"};
    if (counts_answers(model_.loss())) {
      graph_.identity(probabilities(), "probabilities");
      outputs.emplace_back("probabilities");
    }
    const Integers extents = extents_of(scores.shape, scores.form);
    for (const std::string& name : outputs) graph_.output(name, extents);
    return graph_.file(exported_.title, texts());
  }

 private:
  // The normalised input.
  OnnxValue input() {
    const Form form = forms_[0].input;
    const nn::Shape shape = model_.input();
    const bool indices = form == Form::indices;
    graph_.input("input", indices ? OnnxGraph::Type::int64 : OnnxGraph::Type::float32,
                 extents_of(shape, form));
    graph_.begin_layer("normalize");
    OnnxValue value{"input", form, shape};
    if (indices || !exported_.scales()) return value;
    const auto constant = [&](const std::vector<double>& numbers) {
      Integers extents{static_cast<std::int64_t>(numbers.size())};
      if (form == Form::picture) extents.insert(extents.end(), {1, 1});
      return graph_.floats(extents, floats_of(numbers));
    };
    const std::string centred = graph_.node("Sub", {value.name, constant(exported_.mean)});
    value.name = graph_.node("Div", {centred, constant(exported_.deviation)});
    return value;
  }

  std::string in_units_of_data(const std::string& scores) {
    if (!exported_.scales_targets()) return scores;
    const Integers extents{static_cast<std::int64_t>(exported_.target_mean.size())};
    const std::string factors = graph_.floats(extents, floats_of(exported_.target_deviation)),
                      offsets = graph_.floats(extents, floats_of(exported_.target_mean));
    return graph_.node("Add", {graph_.node("Mul", {scores, factors}), offsets});
  }

  // Of classes, or of 1 for each target.
  std::string probabilities() {
    if (takes_targets(model_.loss())) return graph_.node("Sigmoid", {"scores"});
    return graph_.node("Softmax", {"scores"}, {{"axis", std::int64_t{-1}}});
  }

  void add(std::size_t i) {
    const nn::Node& node = model_.nodes()[i];
    graph_.begin_layer(node.name);
    std::vector<OnnxValue> inputs;
    for (const std::uint32_t from : node.inputs) inputs.push_back(converted(values_[from], forms_[i].input));
    Names tensors;
    for (const std::uint32_t index : node.tensors) {
      const nn::Tensor& tensor = model_.tensors()[index];
      const Integers extents(tensor.spec.shape.begin(), tensor.spec.shape.end());
      tensors.push_back(graph_.parameter(tensor.spec.name, extents, exported_.values(tensor)));
    }
    const std::string name = std::visit(Lowering{graph_, inputs, tensors, node.shape}, node.kind);
    values_.push_back({name, forms_[i].output, node.shape});
  }

  OnnxValue converted(OnnxValue value, Form to) {
    if (value.form == to) return value;
    Integers extents = extents_of(value.shape, to);
    extents.insert(extents.begin(), 0);                             // samples
    const bool moves = value.shape.height * value.shape.width > 1;  // otherwise the order is the same
    const auto turned = [&] { return graph_.node("Transpose", {value.name}, {{"perm", Integers{0, 2, 1}}}); };
    const auto reshaped = [&](const Integers& as) {
      return graph_.node("Reshape", {value.name, graph_.integers(as)});
    };
    if (to == Form::sequence && moves) {
      value.name = reshaped({0, value.shape.channels, -1});
      value.name = turned();
    } else {
      if (value.form == Form::sequence && moves) value.name = turned();
      value.name = reshaped(extents);
    }
    if (to == Form::indices) value.name = graph_.node("Cast", {value.name}, {{"to", std::int64_t{7}}});
    value.form = to;
    return value;
  }

  [[nodiscard]] OnnxGraph::Texts texts() const {
    OnnxGraph::Texts all{{"model", exported_.title},
                         {"mean", dump_json(exported_.mean)},
                         {"deviation", dump_json(exported_.deviation)}};
    const bool targets = takes_targets(model_.loss());
    if (!exported_.classes.empty())
      all.emplace_back(targets ? "targets" : "classes", dump_json(exported_.classes));
    return all;
  }

  const ExportedModel& exported_;
  const nn::Model& model_;
  const std::vector<NodeForms> forms_;
  OnnxGraph graph_;
  std::vector<OnnxValue> values_;  // by node
};

}  // namespace

std::string onnx_file(const ExportedModel& exported) { return OnnxWriter(exported).file(); }

}  // namespace steelyard
