// Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural networks" (2019), table 1.
#include <array>
#include <cmath>

#include "nn/models/convolution.h"
#include "nn/models/built_in_models.h"

namespace steelyard::nn {
namespace {

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

// Each channel times a number between 0 and 1 that depends on all of them (Hu et al. 2018).
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

}  // namespace

Model efficientnet_b0(Shape input, std::uint32_t classes, const Options& options) {
  return efficientnet(input, classes, 1.0, options.number("dropout"));
}
Model efficientnet_b1(Shape input, std::uint32_t classes, const Options& options) {
  return efficientnet(input, classes, 1.1, options.number("dropout"));
}

}  // namespace steelyard::nn
