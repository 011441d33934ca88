#include "app/export/torch_lines.h"

#include <algorithm>
#include <cmath>

#include "core/json.h"
#include "core/text.h"

namespace steelyard {

std::string python_text(const std::string& text) { return dump_json(Json(text)); }

namespace {

std::string python_tuple(const std::vector<std::uint64_t>& values) {
  std::string text;
  for (const std::uint64_t value : values) text += (text.empty() ? "" : ", ") + std::to_string(value);
  return "(" + text + (values.size() == 1 ? ",)" : ")");
}

std::string pair_text(nn::Pair pair) {
  const std::string rows = std::to_string(pair.rows);
  return pair.rows == pair.columns ? rows : "(" + rows + ", " + std::to_string(pair.columns) + ")";
}

std::string python_flag(bool value) { return value ? "True" : "False"; }

// A node of the model in Python: how its layer is made, if it has one, and its result.
struct PythonNode {
  const nn::Node& node;
  const nn::Model& model;
  const std::vector<std::string>& in;
  Form form;                         // of the inputs
  const nn::Shape& shape;            // of the first input
  std::vector<std::string>& places;  // lines of the constructor

  // Layers with shared parameters are made once.
  void place(const std::string& path, const std::string& it) const {
    const std::string line = "self._place(" + python_text(path) + ", " + it + ")";
    if (std::ranges::find(places, line) == places.end()) places.push_back(line);
  }
  [[nodiscard]] const nn::Tensor& tensor(std::size_t i) const { return model.tensors()[node.tensors[i]]; }
  // Parameters that belong to no module of PyTorch.
  [[nodiscard]] std::string parameter(std::size_t i) const {
    const nn::ParameterSpec& spec = tensor(i).spec;
    place(spec.name, "nn.Parameter(torch.zeros" + python_tuple(spec.shape) + ")");
    return "self._at(" + python_text(spec.name) + ")";
  }
  [[nodiscard]] std::string layer(const std::string& made) const {
    place(node.name, "nn." + made);
    return "self._at(" + python_text(node.name) + ")";
  }
  [[nodiscard]] std::string called(const std::string& made) const { return layer(made) + "(" + in[0] + ")"; }
  [[nodiscard]] std::string function(const std::string& name, const std::string& more = "") const {
    return name + "(" + in[0] + more + ")";
  }
  [[nodiscard]] std::string channels() const { return std::to_string(shape.channels); }
  template <class Pool>
  [[nodiscard]] std::string pooled(const char* name, const Pool& op) const {
    return function(name, ", " + std::to_string(op.size) + ", " + std::to_string(op.stride) + ", " +
                              std::to_string(op.padding));
  }

  std::string operator()(const nn::Conv2d& op) const {
    std::string text =
        "Conv2d(" + channels() + ", " + std::to_string(op.channels) + ", " + pair_text(op.kernel);
    if (op.stride != 1) text += ", stride=" + std::to_string(op.stride);
    if (op.padding != nn::Pair(0)) text += ", padding=" + pair_text(op.padding);
    if (op.groups != 1) text += ", groups=" + std::to_string(op.groups);
    return called(text + (op.bias ? ")" : ", bias=False)"));
  }
  std::string operator()(const nn::MaxPool& op) const { return pooled("F.max_pool2d", op); }
  std::string operator()(const nn::AveragePool& op) const { return pooled("F.avg_pool2d", op); }
  std::string operator()(const nn::GlobalAveragePool&) const {
    if (form == Form::vector) return in[0];
    return in[0] + (form == Form::picture ? ".mean((2, 3))" : ".mean(1)");
  }
  std::string operator()(const nn::ChannelShuffle& op) const {
    return in[0] + ".unflatten(1, (" + std::to_string(op.groups) + ", -1)).transpose(1, 2).flatten(1, 2)";
  }
  std::string operator()(const nn::ChannelSlice& op) const {
    const char* before = form == Form::sequence ? "[:, :, " : "[:, ";
    return in[0] + before + std::to_string(op.begin) + ":" + std::to_string(op.end) + "]";
  }
  std::string operator()(const nn::Activation& op) const {
    using Kind = nn::Activation::Kind;
    if (op.kind == Kind::gelu_tanh) return function("F.gelu", ", approximate='tanh'");
    if (op.kind == Kind::hard_swish) return function("F.hardswish");
    if (op.kind == Kind::hard_sigmoid) return function("F.hardsigmoid");
    const bool torch = op.kind == Kind::sigmoid || op.kind == Kind::tanh;
    return function((torch ? "torch." : "F.") + std::string(name_of(op)));
  }
  std::string operator()(const nn::Dropout& op) const {
    return function("F.dropout", ", " + number_text(op.probability) + ", self.training");
  }
  template <class Op>
  [[nodiscard]] std::string linear(const Op& op, std::uint64_t inputs) const {
    return called("Linear(" + std::to_string(inputs) + ", " + std::to_string(op.outputs) +
                  (op.bias ? ")" : ", bias=False)"));
  }
  std::string operator()(const nn::Linear& op) const { return linear(op, shape.size()); }
  // Whether an embedding has this tensor, and another layer shares it.
  [[nodiscard]] bool belongs_to_embedding(std::uint32_t its) const {
    return std::ranges::any_of(model.nodes(), [&](const nn::Node& it) {
      return std::holds_alternative<nn::Embedding>(it.kind) && it.tensors[0] == its;
    });
  }
  std::string operator()(const nn::TokenLinear& op) const {
    const bool tied = belongs_to_embedding(node.tensors[0]);
    if (!op.joined_names && !tied) return linear(op, shape.channels);
    const std::string weight = tied ? "self._at(" + python_text(tensor(0).spec.name) + ")" : parameter(0);
    return function("F.linear", ", " + weight + (op.bias ? ", " + parameter(1) : ""));
  }
  std::string operator()(const nn::BatchNorm& op) const {
    return called((form == Form::picture ? "BatchNorm2d(" : "BatchNorm1d(") + channels() +
                  ", eps=" + number_text(op.epsilon) + ", momentum=" + rounded(1 - op.keep) + ")");
  }
  std::string operator()(const nn::LayerNorm& op) const {
    return called("LayerNorm(" + channels() + ", eps=" + number_text(op.epsilon) + ")");
  }
  std::string operator()(const nn::GroupNorm& op) const {
    return called("GroupNorm(" + std::to_string(op.groups) + ", " + channels() +
                  ", eps=" + number_text(op.epsilon) + ")");
  }
  std::string operator()(const nn::Add&) const { return in[0] + " + " + in[1]; }
  // The factors are a vector in the form of the first input: [channel][1][1] or [1][feature].
  std::string operator()(const nn::Scale&) const { return in[0] + " * " + in[1]; }
  std::string operator()(const nn::Concat&) const {
    std::string all;
    for (const std::string& one : in) all += (all.empty() ? "" : ", ") + one;
    return "torch.cat((" + all + "), " + (form == Form::sequence ? "2)" : "1)");
  }
  std::string operator()(const nn::Embedding& op) const {
    return called("Embedding(" + std::to_string(op.rows) + ", " + std::to_string(op.features) + ")");
  }
  std::string operator()(const nn::PositionEmbedding& op) const {
    const std::vector<std::uint64_t>& extents = tensor(0).spec.shape;
    const std::string rows = op.first_only ? "1" : std::to_string(shape.width);
    if (op.bare) return in[0] + " + " + parameter(0) + (op.batch_axis ? "[:, :" : "[:") + rows + "]";
    return in[0] + " + " +
           layer("Embedding(" + std::to_string(extents[0]) + ", " + std::to_string(extents[1]) + ")") +
           ".weight[:" + rows + "]";
  }
  std::string operator()(const nn::ClassToken&) const {
    return "torch.cat((" + parameter(0) + ".expand(len(" + in[0] + "), -1, -1), " + in[0] + "), 1)";
  }
  std::string operator()(const nn::SelectToken& op) const {
    return in[0] + "[:, " + std::to_string(op.token) + "]";
  }
  std::string operator()(const nn::Tokens&) const { return in[0]; }
  std::string operator()(const nn::Attention& op) const {
    return function("attention", ", " + std::to_string(op.heads) + ", " + python_flag(op.causal));
  }

  // 1 - 0.9 is 0.09999999999999998.
  static std::string rounded(double value) { return number_text(std::round(value * 1e12) / 1e12); }
};

}  // namespace

std::string torch_expression(const nn::Model& model, const nn::Node& node, Form form,
                             const std::vector<std::string>& inputs, std::vector<std::string>& places) {
  const nn::Shape shape = model.input_shapes(node)[0];
  return std::visit(PythonNode{node, model, inputs, form, shape, places}, node.kind);
}

std::string python_form(const std::string& x, nn::Shape shape, Form from, Form to) {
  const bool one = shape.height * shape.width == 1;
  if (from == to) return x;
  if (to == Form::indices) return x + ".flatten(1).long()";
  if (to == Form::vector)
    return x + (from == Form::sequence && !one ? ".transpose(1, 2).flatten(1)" : ".flatten(1)");
  if (to == Form::sequence) return x + (from == Form::picture ? ".flatten(2).transpose(1, 2)" : "[:, None]");
  if (from == Form::vector) return x + "[:, :, None, None]";
  return x + ".transpose(1, 2).unflatten(2, (" + std::to_string(shape.height) + ", " +
         std::to_string(shape.width) + "))";
}

}  // namespace steelyard
