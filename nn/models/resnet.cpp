// He et al., "Deep residual learning for image recognition" (2016); shortcuts that change shape are
// projections (its option B).
#include <array>

#include "nn/models.h"
#include "nn/models/convolution.h"

namespace steelyard::nn {
namespace {

Conv2d conv(std::uint32_t channels, std::uint32_t kernel, std::uint32_t stride = 1) {
  return unbiased(channels, kernel, stride, Init::he_fan_out);
}

Value shortcut(Value x, const std::string& name, std::uint32_t channels, std::uint32_t stride) {
  if (stride == 1 && x.shape().channels == channels) return x;
  return x.conv2d(name + ".downsample.0", conv(channels, 1, stride)).batch_norm(name + ".downsample.1");
}

Value basic(Value x, const std::string& name, std::uint32_t width, std::uint32_t stride) {
  Value y = x.conv2d(name + ".conv1", conv(width, 3, stride)).batch_norm(name + ".bn1").relu();
  y = y.conv2d(name + ".conv2", conv(width, 3)).batch_norm(name + ".bn2");
  return y.add(shortcut(x, name, width, stride)).relu();
}

Value bottleneck(Value x, const std::string& name, std::uint32_t width, std::uint32_t stride) {
  Value y = x.conv2d(name + ".conv1", conv(width, 1)).batch_norm(name + ".bn1").relu();
  y = y.conv2d(name + ".conv2", conv(width, 3, stride)).batch_norm(name + ".bn2").relu();
  y = y.conv2d(name + ".conv3", conv(4 * width, 1)).batch_norm(name + ".bn3");
  return y.add(shortcut(x, name, 4 * width, stride)).relu();
}

// `count` blocks; from the second stage on, the first block halves the picture.
template <class Block>
Value stage(Value x, std::uint32_t number, std::uint32_t count, std::uint32_t width, Block block) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string name = "layer" + std::to_string(number) + "." + std::to_string(i);
    x = block(x, name, width, number > 1 && i == 0 ? 2 : 1);
  }
  return x;
}

// For pictures of 32 x 32, section 4.2: three stages with `blocks` blocks each; the first has `width`
// channels, and each of the others twice as many as the one before.
Model for_cifar(Shape input, std::uint32_t classes, const Options& options, std::uint32_t blocks) {
  const auto width = static_cast<std::uint32_t>(options.whole("width"));
  Model model(input, classes);
  Value x = model.input_value().conv2d("conv1", conv(width, 3)).batch_norm("bn1").relu();
  for (const std::uint32_t number : {0U, 1U, 2U}) x = stage(x, number + 1, blocks, width << number, basic);
  x.global_average_pool().linear("fc", classes);
  return model;
}

Model resnet20(Shape input, std::uint32_t classes, const Options& options) {
  return for_cifar(input, classes, options, 3);
}
Model resnet32(Shape input, std::uint32_t classes, const Options& options) {
  return for_cifar(input, classes, options, 5);
}

// The usual variant for pictures of 32 x 32: a stem of one 3 x 3 convolution.
Model resnet18(Shape input, std::uint32_t classes, const Options&) {
  Model model(input, classes);
  Value x = model.input_value().conv2d("conv1", conv(64, 3)).batch_norm("bn1").relu();
  for (const std::uint32_t number : {1U, 2U, 3U, 4U}) x = stage(x, number, 2, 32U << number, basic);
  x.global_average_pool().linear("fc", classes);
  return model;
}

Model resnet101(Shape input, std::uint32_t classes, const Options&) {
  Model model(input, classes);
  Value x = model.input_value().conv2d("conv1", conv(64, 7, 2)).batch_norm("bn1").relu().max_pool(3, 2, 1);
  const std::array<std::uint32_t, 4> blocks{3, 4, 23, 3};
  for (std::uint32_t i = 0; i < 4; ++i) x = stage(x, i + 1, blocks[i], 64U << i, bottleneck);
  x.global_average_pool().linear("fc", classes);
  return model;
}

Option width() { return whole_option("width", 16, 1, 1024, "channels of the first stage"); }

}  // namespace

ModelTable resnet_rows() {
  return {{"resnet18", resnet18, "blocks with shortcuts, wide; for 32 x 32 pixels (He 2016)"},
          {"resnet20", resnet20, "blocks with shortcuts, narrow; for 32 x 32 pixels (He 2016)", {width()}},
          {"resnet32", resnet32, "resnet20, deeper", {width()}},
          {"resnet101", resnet101, "bottlenecks with shortcuts; for 224 x 224 pixels (He 2016)"}};
}

}  // namespace steelyard::nn
