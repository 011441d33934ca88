#include "nn/loss.h"
#include "nn/models.h"

namespace steelyard::nn {
namespace {

// A hidden layer of a perceptron; dropout 0 adds no dropout layer.
void hidden(Model& model, const std::string& name, std::uint32_t outputs, double dropout) {
  model.linear(name, outputs).relu();
  if (dropout > 0) model.dropout(dropout);
}

Model softmax_regression(Shape input, std::uint32_t classes, const Options&) {
  return Model(input, classes).linear("fc", classes);
}

Model svm(Shape input, std::uint32_t classes, const Options&) {
  return Model(input, classes, Loss::hinge).linear("fc", classes);
}

Option loss_option() {
  return word_option(
      "loss", loss_words().front(), loss_words(),
      "what training minimises; mse and mae predict numbers, bce several answers of yes or no");
}
Loss loss_in(const Options& options) { return *loss_named(options.text("loss")); }

Model mlp(Shape input, std::uint32_t classes, const Options& options) {
  const double dropout = options.number("dropout");
  Model model(input, classes, loss_in(options));
  std::uint32_t layer = 1;
  for (const std::uint64_t units : options.wholes("hidden"))
    hidden(model, "fc" + std::to_string(layer++), static_cast<std::uint32_t>(units), dropout);
  return model.linear("fc" + std::to_string(layer), classes);
}

// The layers follow from the job file (nn/layer_table.h).
Model of_layers(Shape input, std::uint32_t classes, const Options& options) {
  Model model(input, classes, loss_in(options));
  return model.smooth_labels(options.number("smoothing"));
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

// Krizhevsky's network for CIFAR-10, in the sizes of TensorFlow's slim; without its local response norms.
Model cifarnet(Shape input, std::uint32_t classes, const Options& options) {
  Model model(input, classes);
  model.conv2d("conv1", {.channels = 64, .kernel = 5, .padding = 2}).relu().max_pool(2);
  model.conv2d("conv2", {.channels = 64, .kernel = 5, .padding = 2}).relu().max_pool(2);
  hidden(model, "fc3", 384, options.number("dropout"));
  hidden(model, "fc4", 192, 0);
  return model.linear("logits", classes);
}

Option dropout_option(const char* places, double otherwise = 0) {
  return number_option("dropout", otherwise, 0, below(1),
                       std::string("share of the features dropped ") + places);
}

}  // namespace

ModelTable small_models_rows() {
  return {{"softmax", softmax_regression, "softmax regression: one linear layer"},
          {"svm", svm, "one linear layer with the multi-class hinge loss"},
          {"mlp",
           mlp,
           "a perceptron: hidden layers with ReLU",
           {wholes_option("hidden", {512, 256}, 1, 1 << 24, "units of each hidden layer"),
            dropout_option("after each hidden layer"), loss_option()}},
          {model_of_layers,
           of_layers,
           "the layers of [[model.layer]] in the job file: steelyard help layers",
           {loss_option(),
            number_option("smoothing", 0, 0, below(1), "label smoothing; only for cross_entropy")}},
          {"lenet5",
           lenet5,
           "two convolutions and three linear layers, with ReLU and max pools (LeCun 1998)",
           {dropout_option("after the hidden linear layers")}},
          {"cifarnet",
           cifarnet,
           "two convolutions and three linear layers for 32 x 32 pixels (Krizhevsky)",
           {dropout_option("after the first linear layer", 0.5)}}};
}

}  // namespace steelyard::nn
