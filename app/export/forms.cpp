#include "app/export/forms.h"

#include <algorithm>

namespace steelyard {
namespace {

// The forms of an op whose first input has the form `given`.
struct FormsOf {
  Form given;

  [[nodiscard]] NodeForms same() const { return {given, given}; }
  // For ops that treat each token alone: a vector is a single token.
  [[nodiscard]] NodeForms each_token() const {
    return given == Form::vector ? same() : NodeForms{Form::sequence, Form::sequence};
  }
  static constexpr NodeForms picture{Form::picture, Form::picture};
  static constexpr NodeForms sequence{Form::sequence, Form::sequence};

  NodeForms operator()(const nn::Conv2d&) const { return picture; }
  NodeForms operator()(const nn::MaxPool&) const { return picture; }
  NodeForms operator()(const nn::AveragePool&) const { return picture; }
  NodeForms operator()(const nn::GlobalAveragePool&) const { return {given, Form::vector}; }
  NodeForms operator()(const nn::ChannelShuffle&) const { return picture; }
  NodeForms operator()(const nn::ChannelSlice&) const { return same(); }
  NodeForms operator()(const nn::Activation&) const { return same(); }
  NodeForms operator()(const nn::Dropout&) const { return same(); }
  NodeForms operator()(const nn::Linear&) const { return {Form::vector, Form::vector}; }
  NodeForms operator()(const nn::TokenLinear&) const { return each_token(); }
  NodeForms operator()(const nn::BatchNorm&) const { return given == Form::vector ? same() : picture; }
  NodeForms operator()(const nn::LayerNorm&) const { return each_token(); }
  NodeForms operator()(const nn::GroupNorm&) const { return picture; }
  NodeForms operator()(const nn::Add&) const { return same(); }
  NodeForms operator()(const nn::Scale&) const { return same(); }
  NodeForms operator()(const nn::Concat&) const { return same(); }
  NodeForms operator()(const nn::Embedding&) const { return {Form::indices, Form::sequence}; }
  NodeForms operator()(const nn::PositionEmbedding&) const { return sequence; }
  NodeForms operator()(const nn::ClassToken&) const { return sequence; }
  NodeForms operator()(const nn::SelectToken&) const { return {Form::sequence, Form::vector}; }
  NodeForms operator()(const nn::Tokens&) const { return sequence; }
  NodeForms operator()(const nn::Attention&) const { return sequence; }
};

// What the input is follows from its shape, and from the ops that read it.
Form form_of_input(const nn::Model& model) {
  const nn::Shape shape = model.input();
  bool embedded = true, sequence = shape.height == 1;
  for (std::size_t i = 1; i < model.nodes().size(); ++i) {
    const nn::Node& node = model.nodes()[i];
    if (std::ranges::count(node.inputs, 0U) == 0) continue;
    embedded = embedded && std::holds_alternative<nn::Embedding>(node.kind);
    sequence = sequence && std::visit(FormsOf{Form::sequence}, node.kind).input == Form::sequence;
  }
  if (embedded) return Form::indices;
  if (shape.height == 1 && shape.width == 1) return Form::vector;
  return sequence ? Form::sequence : Form::picture;
}

}  // namespace

std::vector<NodeForms> forms_of(const nn::Model& model) {
  const Form first = form_of_input(model);
  std::vector<NodeForms> forms{{first, first}};
  for (std::size_t i = 1; i < model.nodes().size(); ++i) {
    const nn::Node& node = model.nodes()[i];
    forms.push_back(std::visit(FormsOf{forms[node.inputs[0]].output}, node.kind));
  }
  return forms;
}

Form form_of_scores(const nn::Model& model) { return model.labels() == 1 ? Form::vector : Form::sequence; }

}  // namespace steelyard
