// Ma et al., "ShuffleNet V2: practical guidelines for efficient CNN architecture design" (2018), width 1.0.
#include "nn/models/convolution.h"
#include "nn/models/built_in_models.h"

namespace steelyard::nn {
namespace {

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

// Halves the picture: both branches see all of it.
Value down_unit(Value x, const std::string& unit, std::uint32_t channels) {
  const std::string branch = unit + ".branch1.";
  const Value left = pointwise(depthwise(x, branch, 0, 2), branch, 2, channels / 2);
  return concat({left, right_branch(x, unit, channels / 2, 2)}).channel_shuffle(2);
}

// Half of the channels goes on as it is.
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

}  // namespace

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

}  // namespace steelyard::nn
