#include "nn/models.h"

#include "core/text.h"

namespace steelyard::nn {
namespace {

Option dropout_of(const char* places) {
  return number_option("dropout", 0, 0, below(1), std::string("share of the features dropped ") + places);
}

// A hidden layer of a perceptron; dropout 0 adds no layer at all.
void hidden(Model& model, const std::string& name, std::uint32_t outputs, double dropout) {
  model.linear(name, outputs).relu();
  if (dropout > 0) model.dropout(dropout);
}

Model softmax(Shape input, std::uint32_t classes, const Options&) {
  return Model(input, classes).linear("fc", classes);
}

Model svm(Shape input, std::uint32_t classes, const Options&) {
  return Model(input, classes, Loss::hinge).linear("fc", classes);
}

Model mlp(Shape input, std::uint32_t classes, const Options& options) {
  const double dropout = options.number("dropout");
  Model model(input, classes);
  hidden(model, "fc1", 512, dropout);
  hidden(model, "fc2", 256, dropout);
  return model.linear("fc3", classes);
}

// LeCun et al. 1998, with ReLU and max pools.
Model lenet5(Shape input, std::uint32_t classes, const Options& options) {
  const double dropout = options.number("dropout");
  Model model(input, classes);
  model.conv2d("conv1", {.channels = 6, .kernel = 5, .padding = 2}).relu().max_pool(2);
  model.conv2d("conv2", {.channels = 16, .kernel = 5}).relu().max_pool(2);
  hidden(model, "fc1", 120, dropout);
  hidden(model, "fc2", 84, dropout);
  return model.linear("fc3", classes);
}

}  // namespace

const ModelTable& built_in_models() {
  static const ModelTable table{
      {"lenet5",
       lenet5,
       "two convolutions and three linear layers, with ReLU and max pools (LeCun 1998)",
       {dropout_of("behind the hidden linear layers")}},
      {"mlp",
       mlp,
       "a perceptron with hidden layers of 512 and 256 units and ReLU",
       {dropout_of("behind both hidden layers")}},
      {"softmax", softmax, "softmax regression: one linear layer"},
      {"svm", svm, "one linear layer under the multi-class hinge loss"}};
  return table;
}

OptionTexts texts_of(const std::map<std::string, double>& values) {
  OptionTexts texts;
  for (const auto& [name, value] : values) texts[name] = number_text(value);
  return texts;
}

Model make_model(const std::string& name, const ModelOptions& options, const ModelTable& extra) {
  Model model = make_choice("model", name, texts_of(options.values), extra, built_in_models(), options.input,
                            options.classes);
  in_name_of("model '" + name + "'", [&] { model.check(); });
  return model;
}

}  // namespace steelyard::nn
