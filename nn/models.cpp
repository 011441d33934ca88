#include "nn/models.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace steelyard::nn {
namespace {

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

// A misspelt option would otherwise train another model than was meant.
void allow_options(const char* model, const ModelOptions& options, const std::vector<std::string>& known) {
  for (const auto& [key, value] : options.values) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    throw Failure(ExitCode::configuration, "model '" + std::string(model) + "' has no option '" + key +
                                               "'; " +
                                               (known.empty() ? "it has none" : "it has: " + joined(known)));
  }
}

double option(const ModelOptions& options, const std::string& key, double otherwise) {
  const auto found = options.values.find(key);
  return found == options.values.end() ? otherwise : found->second;
}

// A hidden layer of a perceptron; dropout 0 adds no layer at all.
void hidden(Model& model, const std::string& name, std::uint32_t outputs, double dropout) {
  model.linear(name, outputs).relu();
  if (dropout > 0) model.dropout(dropout);
}

Model softmax(const ModelOptions& options) {
  allow_options("softmax", options, {});
  return Model(options.input, options.classes).linear("fc", options.classes);
}

Model svm(const ModelOptions& options) {
  allow_options("svm", options, {});
  return Model(options.input, options.classes, Loss::hinge).linear("fc", options.classes);
}

Model mlp(const ModelOptions& options) {
  allow_options("mlp", options, {"dropout"});
  const double dropout = option(options, "dropout", 0);
  Model model(options.input, options.classes);
  hidden(model, "fc1", 512, dropout);
  hidden(model, "fc2", 256, dropout);
  return model.linear("fc3", options.classes);
}

Model lenet5(const ModelOptions& options) {
  allow_options("lenet5", options, {"dropout"});
  const double dropout = option(options, "dropout", 0);
  Model model(options.input, options.classes);
  model.conv2d("conv1", {.channels = 6, .kernel = 5, .padding = 2}).relu().max_pool(2);
  model.conv2d("conv2", {.channels = 16, .kernel = 5}).relu().max_pool(2);
  hidden(model, "fc1", 120, dropout);
  hidden(model, "fc2", 84, dropout);
  return model.linear("fc3", options.classes);
}

}  // namespace

const ModelTable& built_in_models() {
  static const ModelTable table{{"softmax", softmax}, {"svm", svm}, {"mlp", mlp}, {"lenet5", lenet5}};
  return table;
}

Model make_model(const std::string& name, const ModelOptions& options, const ModelTable& extra) {
  std::vector<std::string> known;
  // The user's table first: it may give a built-in name another meaning.
  for (const ModelTable* table : {&extra, &built_in_models()}) {
    const auto found = table->find(name);
    if (found != table->end()) return found->second(options);
    for (const auto& [other, make] : *table) known.push_back(other);
  }
  throw Failure(ExitCode::configuration, "there is no model '" + name + "'; known are: " + joined(known));
}

}  // namespace steelyard::nn
