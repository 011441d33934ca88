#include "app/export/torch_source.h"

#include <algorithm>

#include "app/export/forms.h"
#include "app/export/torch_lines.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr const char* attention_function = R"(

def attention(x, heads, causal):
    """The features of a token are the queries, keys and values of all heads, one after the other."""
    query, key, value = x.unflatten(2, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    scores = query @ key.transpose(2, 3) / math.sqrt(query.shape[-1])
    if causal:
        later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
        scores = scores.masked_fill(later, float("-inf"))
    return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2)
)";

constexpr const char* placing = R"(
    def _place(self, path, layer):
        """Adds a layer or parameter; the parts of its name but the last are modules around it."""
        *outer, name = path.split(".")
        home = self
        for part in outer:
            home = home._modules.setdefault(part, nn.Module())
        (home._parameters if isinstance(layer, nn.Parameter) else home._modules)[name] = layer

    def _at(self, path):
        *outer, name = path.split(".")
        home = self
        for part in outer:
            home = home._modules[part]
        return home._modules[name] if name in home._modules else home._parameters[name]
)";

const char* axes_text(Form form) {
  switch (form) {
    case Form::picture:
      return "[samples, channels, rows, columns]";
    case Form::sequence:
      return "[samples, tokens, features]";
    case Form::vector:
      return "[samples, features]";
    case Form::indices:
      return "[samples, tokens], whole numbers";
  }
  return "";
}

// Writes one model, node by node.
class PythonWriter {
 public:
  explicit PythonWriter(const ExportedModel& exported)
      : exported_(exported), model_(exported.model), forms_(forms_of(model_)) {
    name_values();
  }

  std::string file() {
    const std::string forward = body();
    std::string text = heading() + imports();
    if (!exported_.classes.empty()) text += (has_targets() ? "\nTARGETS = " : "\nCLASSES = ") + classes();
    if (has_attention_) text += attention_function;
    text += "\n\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n";
    if (scales_input()) text += buffer("_mean", exported_.mean) + buffer("_deviation", exported_.deviation);
    if (exported_.scales_targets())
      text += buffer("_target_mean", exported_.target_mean, false) +
              buffer("_target_deviation", exported_.target_deviation, false);
    for (const std::string& line : places_) text += "        " + line + "\n";
    return text + placing + "\n    def forward(self, x):\n" + forward;
  }

 private:
  // A value is called x if only the next node reads it, and has its own name otherwise.
  void name_values() {
    const std::vector<nn::Node>& nodes = model_.nodes();
    names_.assign(nodes.size(), "x");
    for (std::size_t i = 1; i < nodes.size(); ++i) {
      for (const std::uint32_t input : nodes[i].inputs) {
        if (input + 1 != i) names_[input] = "x" + std::to_string(input);
      }
    }
  }

  [[nodiscard]] std::string heading() const {
    return "\"\"\"" + exported_.title + ", written by steelyard export.\n\n" +
           "    model = Model()\n"
           "    model.load_state_dict(torch.load(\"FILE.pt\", weights_only=True))\n"
           "    model.eval()\n"
           "    scores = model(inputs)\n\n"
           "inputs: " +
           axes_text(forms_[0].input) +
           (scales_input() ? ", raw values of the data (pixels of IDX and CIFAR files: byte / 255),\n    "
                             "which the model normalises"
                           : "") +
           ".\nscores: " + scores_text() +
           (model_.smoothing() > 0 ? ", labels smoothed by " + number_text(model_.smoothing()) : "") +
           ".\n\"\"\"\n";
  }

  [[nodiscard]] bool has_targets() const { return takes_targets(model_.loss()); }

  [[nodiscard]] std::string scores_text() const {
    const std::string scaled = exported_.scales_targets() ? ", in the units of the data" : "";
    switch (model_.loss()) {
      case nn::Loss::mean_squared_error:
        return "[samples, targets]" + scaled + "; trained with the mean squared error";
      case nn::Loss::mean_absolute_error:
        return "[samples, targets]" + scaled + "; trained with the mean absolute error";
      case nn::Loss::binary_cross_entropy:
        return "[samples, targets], whose sigmoid is the probability of 1; trained with binary cross-entropy";
      case nn::Loss::softmax_cross_entropy:
      case nn::Loss::hinge:
        break;
    }
    return std::string(model_.labels() == 1 ? "[samples, classes]" : "[samples, tokens, classes]") +
           (model_.loss() == nn::Loss::hinge ? "; trained with the multi-class hinge loss"
                                             : "; trained with cross-entropy");
  }

  [[nodiscard]] std::string imports() const {
    std::string text = has_attention_ ? "import math\n\n" : "";
    text += "import torch\nfrom torch import nn\n";
    return uses_functions_ ? text + "from torch.nn import functional as F\n" : text;
  }

  [[nodiscard]] std::string classes() const {
    std::string text;
    for (const std::string& name : exported_.classes) text += (text.empty() ? "[" : ", ") + python_text(name);
    return text + "]\n";
  }

  [[nodiscard]] bool scales_input() const { return exported_.scales() && forms_[0].input != Form::indices; }

  // Not persistent: the state_dict has only what training changes.
  [[nodiscard]] std::string buffer(const std::string& name, const std::vector<double>& numbers,
                                   bool of_input = true) const {
    std::string list;
    for (const double number : numbers) list += (list.empty() ? "[" : ", ") + number_text(number);
    return "        self.register_buffer(\"" + name + "\", torch.tensor(" + list + "])" +
           (of_input && forms_[0].input == Form::picture ? ".view(-1, 1, 1)" : "") + ", persistent=False)\n";
  }

  std::string body() {
    std::string text;
    if (scales_input()) text += "        x = (x - self._mean) / self._deviation\n";
    if (names_[0] != "x") text += "        " + names_[0] + " = x\n";
    for (std::size_t i = 1; i < model_.nodes().size(); ++i) {
      const nn::Node& node = model_.nodes()[i];
      has_attention_ = has_attention_ || std::holds_alternative<nn::Attention>(node.kind);
      std::vector<std::string> inputs;
      for (const std::uint32_t from : node.inputs) inputs.push_back(converted(from, forms_[i].input));
      const std::string value = torch_expression(model_, node, forms_[i].input, inputs, places_);
      uses_functions_ = uses_functions_ || value.starts_with("F.");
      if (value != names_[i]) text += "        " + names_[i] + " = " + value + "\n";
    }
    const std::string scores = converted(model_.nodes().size() - 1, form_of_scores(model_));
    return text + "        return " + scores +
           (exported_.scales_targets() ? " * self._target_deviation + self._target_mean\n" : "\n");
  }

  [[nodiscard]] std::string converted(std::size_t node, Form to) const {
    return python_form(names_[node], model_.nodes()[node].shape, forms_[node].output, to);
  }

  const ExportedModel& exported_;
  const nn::Model& model_;
  const std::vector<NodeForms> forms_;
  std::vector<std::string> names_;   // of values, by node
  std::vector<std::string> places_;  // lines of the constructor
  bool has_attention_ = false, uses_functions_ = false;
};

}  // namespace

std::string torch_source(const ExportedModel& exported) { return PythonWriter(exported).file(); }

}  // namespace steelyard
