#include <array>
#include <cmath>

#include "nn/models.h"
#include "nn/models/convolution.h"

namespace steelyard::nn {
namespace {

// Ma et al., "ShuffleNet V2: practical guidelines for efficient CNN architecture design" (2018), width 1.0.

Value pointwise(Value x, const std::string& branch, std::uint32_t first, std::uint32_t channels) {
  return x.conv2d(branch + std::to_string(first), unbiased(channels, 1, 1, Init::fan_in))
      .batch_norm(branch + std::to_string(first + 1))
      .relu();
}

Value depthwise(Value x, const std::string& branch, std::uint32_t first, std::uint32_t stride) {
  const std::uint32_t channels = x.shape().channels;
  const Conv2d conv = unbiased(channels, 3, stride, Init::fan_in, channels);
  return x.conv2d(branch + std::to_string(first), conv).batch_norm(branch + std::to_string(first + 1));
}

Value right_branch(Value x, const std::string& unit, std::uint32_t channels, std::uint32_t stride) {
  const std::string branch = unit + ".branch2.";
  return pointwise(depthwise(pointwise(x, branch, 0, channels), branch, 3, stride), branch, 5, channels);
}

// Halves the picture: both branches process all channels.
Value down_unit(Value x, const std::string& unit, std::uint32_t channels) {
  const std::string branch = unit + ".branch1.";
  const Value left = pointwise(depthwise(x, branch, 0, 2), branch, 2, channels / 2);
  return concat({left, right_branch(x, unit, channels / 2, 2)}).channel_shuffle(2);
}

// Half of the channels is passed on unchanged.
Value unit(Value x, const std::string& name) {
  const std::uint32_t channels = x.shape().channels, half = channels / 2;
  const Value left = x.channel_slice(0, half);
  return concat({left, right_branch(x.channel_slice(half, channels), name, half, 1)}).channel_shuffle(2);
}

Value stage(Value x, std::uint32_t number, std::uint32_t units, std::uint32_t channels) {
  const std::string name = "stage" + std::to_string(number) + ".";
  x = down_unit(x, name + "0", channels);
  for (std::uint32_t i = 1; i < units; ++i) x = unit(x, name + std::to_string(i));
  return x;
}

Model shufflenet_v2(Shape input, std::uint32_t classes, const Options&) {
  Model model(input, classes);
  Value x = model.input_value()
                .conv2d("conv1.0", unbiased(24, 3, 2, Init::fan_in))
                .batch_norm("conv1.1")
                .relu()
                .max_pool(3, 2, 1);
  x = stage(stage(stage(x, 2, 4, 116), 3, 8, 232), 4, 4, 464);
  x = x.conv2d("conv5.0", unbiased(1024, 1, 1, Init::fan_in)).batch_norm("conv5.1").relu();
  x.global_average_pool().linear("fc", classes);
  return model;
}

// Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural networks" (2019), table 1.

struct Stage {
  std::uint32_t expansion, kernel, stride, channels, repeats;
};
constexpr std::array<Stage, 7> stages{{{1, 3, 1, 16, 1},
                                       {6, 3, 2, 24, 2},
                                       {6, 5, 2, 40, 2},
                                       {6, 3, 2, 80, 3},
                                       {6, 5, 1, 112, 3},
                                       {6, 5, 2, 192, 4},
                                       {6, 3, 1, 320, 1}}};

Value conv_norm(Value x, const std::string& name, std::uint32_t channels, std::uint32_t kernel,
                std::uint32_t stride, std::uint32_t groups = 1) {
  const Conv2d options = unbiased(channels, kernel, stride, Init::he_fan_out, groups);
  return x.conv2d(name + ".0", options).batch_norm(name + ".1");
}

// Multiplies each channel by a number between 0 and 1 that depends on all channels (Hu et al. 2018).
Value squeeze_and_excite(Value x, const std::string& name, std::uint32_t width) {
  const Conv2d squeeze{.channels = width, .kernel = 1, .init = Init::he_fan_out};
  const Conv2d excite{.channels = x.shape().channels, .kernel = 1, .init = Init::he_fan_out};
  Value factors = x.global_average_pool().conv2d(name + ".fc1", squeeze).silu();
  return x.scale(factors.conv2d(name + ".fc2", excite).sigmoid());
}

// The inverted bottleneck of MobileNetV2.
Value block(Value x, const std::string& name, const Stage& stage, std::uint32_t stride) {
  const std::uint32_t in = x.shape().channels, wide = in * stage.expansion;
  std::uint32_t part = 0;
  const auto next = [&] { return name + ".block." + std::to_string(part++); };
  Value y = x;
  if (stage.expansion > 1) y = conv_norm(y, next(), wide, 1, 1).silu();
  y = conv_norm(y, next(), wide, stage.kernel, stride, wide).silu();
  y = squeeze_and_excite(y, next(), in / 4);
  y = conv_norm(y, next(), stage.channels, 1, 1);
  return stride == 1 && in == stage.channels ? y.add(x) : y;
}

Model efficientnet(Shape input, std::uint32_t classes, double depth, double dropout) {
  Model model(input, classes);
  Value x = conv_norm(model.input_value(), "features.0", 32, 3, 2).silu();
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const auto repeats = static_cast<std::uint32_t>(std::ceil(depth * stages[s].repeats));
    for (std::uint32_t i = 0; i < repeats; ++i) {
      const std::string name = "features." + std::to_string(s + 1) + "." + std::to_string(i);
      x = block(x, name, stages[s], i == 0 ? stages[s].stride : 1);
    }
  }
  x = conv_norm(x, "features.8", 1280, 1, 1).silu().global_average_pool();
  if (dropout > 0) x = x.dropout(dropout);
  x.linear("classifier.1", classes);
  return model;
}

Model efficientnet_b0(Shape input, std::uint32_t classes, const Options& options) {
  return efficientnet(input, classes, 1.0, options.number("dropout"));
}
Model efficientnet_b1(Shape input, std::uint32_t classes, const Options& options) {
  return efficientnet(input, classes, 1.1, options.number("dropout"));
}

// Huang et al., "Densely connected convolutional networks" (2017): DenseNet-BC-121.

constexpr std::uint32_t growth = 32;

Conv2d dense_conv(std::uint32_t channels, std::uint32_t kernel, std::uint32_t stride = 1) {
  return unbiased(channels, kernel, stride, Init::he_fan_in);
}

// Appends `growth` channels to its input.
Value dense_layer(Value x, const std::string& name) {
  Value y = x.batch_norm(name + ".norm1").relu().conv2d(name + ".conv1", dense_conv(4 * growth, 1));
  return concat({x, y.batch_norm(name + ".norm2").relu().conv2d(name + ".conv2", dense_conv(growth, 3))});
}

Value transition(Value x, const std::string& name) {
  const std::uint32_t half = x.shape().channels / 2;
  return x.batch_norm(name + ".norm").relu().conv2d(name + ".conv", dense_conv(half, 1)).average_pool(2);
}

Model densenet121(Shape input, std::uint32_t classes, const Options&) {
  Model model(input, classes);
  Value x =
      model.input_value().conv2d("features.conv0", dense_conv(64, 7, 2)).batch_norm("features.norm0").relu();
  x = x.max_pool(3, 2, 1);
  const std::array<std::uint32_t, 4> layers{6, 12, 24, 16};
  for (std::uint32_t block = 1; block <= 4; ++block) {
    const std::string number = std::to_string(block);
    for (std::uint32_t i = 1; i <= layers[block - 1]; ++i) {
      x = dense_layer(x, "features.denseblock" + number + ".denselayer" + std::to_string(i));
    }
    if (block < 4) x = transition(x, "features.transition" + number);
  }
  x.batch_norm("features.norm5").relu().global_average_pool().linear("classifier", classes);
  return model;
}

}  // namespace

ModelTable convolutional_models_rows() {
  const Option dropout =
      number_option("dropout", 0.2, 0, below(1), "share of the features dropped before the last layer");
  return {{"shufflenet_v2", shufflenet_v2,
           "depth-wise convolutions, few operations; for 224 x 224 pixels (Ma 2018)"},
          {"efficientnet_b0",
           efficientnet_b0,
           "inverted bottlenecks with squeeze and excite; for 224 x 224 pixels (Tan 2019)",
           {dropout}},
          {"efficientnet_b1", efficientnet_b1, "the same, deeper; for 240 x 240 pixels", {dropout}},
          {"densenet121", densenet121,
           "each layer takes the outputs of all previous ones; for 224 x 224 pixels (Huang 2017)"}};
}

}  // namespace steelyard::nn
