#include "nn/models.h"

#include "core/text.h"
#include "nn/models/built_in_models.h"

namespace steelyard::nn {
namespace {

Option dropout_of(const char* places, double otherwise = 0) {
  return number_option("dropout", otherwise, 0, below(1),
                       std::string("share of the features dropped ") + places);
}

std::vector<Option> sizes(std::uint64_t width, std::uint64_t layers, std::uint64_t heads) {
  return {whole_option("width", width, 1, 16384, "features of a token"),
          whole_option("layers", layers, 1, 200, "of attention and a perceptron each"),
          whole_option("heads", heads, 1, 256, "of attention; they divide the width")};
}

Option vocabulary(std::uint64_t otherwise) {
  return whole_option("vocabulary", otherwise, 1, 10'000'000, "numbers that a token may be, from 0 on");
}

std::vector<Option> with(std::vector<Option> options, Option one) {
  options.push_back(std::move(one));
  return options;
}

}  // namespace

const ModelTable& built_in_models() {
  static const ModelTable table{
      {"albert",
       albert,
       "an encoder of text with twelve layers of shared weights (Lan 2020)",
       {vocabulary(30000)}},
      {"cifarnet",
       cifarnet,
       "two convolutions and three linear layers for 32 x 32 pixels (Krizhevsky)",
       {dropout_of("behind the first linear layer", 0.5)}},
      {"densenet121", densenet121, "each layer sees all before it; for 224 x 224 pixels (Huang 2017)"},
      {"efficientnet_b0",
       efficientnet_b0,
       "inverted bottlenecks with squeeze and excite; for 224 x 224 pixels (Tan 2019)",
       {dropout_of("before the last layer", 0.2)}},
      {"efficientnet_b1",
       efficientnet_b1,
       "the same, deeper; for 240 x 240 pixels",
       {dropout_of("before the last layer", 0.2)}},
      {"gpt", gpt, "a decoder that predicts the next byte (Radford 2019)", sizes(384, 6, 6)},
      {"inception_v3",
       inception_v3,
       "blocks of parallel convolutions; for 299 x 299 pixels (Szegedy 2015)",
       {dropout_of("before the last layer", 0.5)}},
      {"lenet5",
       lenet5,
       "two convolutions and three linear layers, with ReLU and max pools (LeCun 1998)",
       {dropout_of("behind the hidden linear layers")}},
      {"mlp",
       mlp,
       "a perceptron with hidden layers of 512 and 256 units and ReLU",
       {dropout_of("behind both hidden layers")}},
      {"resnet101", resnet101, "bottlenecks with shortcuts; for 224 x 224 pixels (He 2016)"},
      {"resnet18", resnet18, "blocks with shortcuts, wide; for 32 x 32 pixels (He 2016)"},
      {"resnet20", resnet20, "blocks with shortcuts, narrow; for 32 x 32 pixels (He 2016)"},
      {"resnet32", resnet32, "the same, deeper"},
      {"shufflenet_v2", shufflenet_v2,
       "depth-wise convolutions, few operations; for 224 x 224 pixels (Ma 2018)"},
      {"softmax", softmax_regression, "softmax regression: one linear layer"},
      {"svm", svm, "one linear layer under the multi-class hinge loss"},
      {"transformer", transformer, "an encoder of text that classifies it (Vaswani 2017)",
       with(sizes(256, 4, 4), vocabulary(1000))},
      {"vit", vit, "a transformer of patches of 4 x 4 pixels; for 32 x 32 pixels (Dosovitskiy 2021)"},
      {"vit_b16", vit_b16, "the same in size B with patches of 16 x 16; for 224 x 224 pixels"}};
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
