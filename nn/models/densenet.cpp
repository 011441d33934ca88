// Huang et al., "Densely connected convolutional networks" (2017): DenseNet-BC-121.
#include <array>

#include "nn/models/convolution.h"
#include "nn/models/built_in_models.h"

namespace steelyard::nn {
namespace {

constexpr std::uint32_t growth = 32;

Conv2d dense_conv(std::uint32_t channels, std::uint32_t kernel, std::uint32_t stride = 1) {
  return unbiased(channels, kernel, stride, Init::he_fan_in);
}

// Adds `growth` channels to what it gets.
Value dense_layer(Value x, const std::string& name) {
  Value y = x.batch_norm(name + ".norm1").relu().conv2d(name + ".conv1", dense_conv(4 * growth, 1));
  return concat({x, y.batch_norm(name + ".norm2").relu().conv2d(name + ".conv2", dense_conv(growth, 3))});
}

Value transition(Value x, const std::string& name) {
  const std::uint32_t half = x.shape().channels / 2;
  return x.batch_norm(name + ".norm").relu().conv2d(name + ".conv", dense_conv(half, 1)).average_pool(2);
}

}  // namespace

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

}  // namespace steelyard::nn
