// Dosovitskiy et al., "An image is worth 16x16 words" (2021). Norms come before what they feed.
#include "nn/models/built_in_models.h"

namespace steelyard::nn {
namespace {

struct Sizes {
  std::uint32_t patch, width, layers, heads, hidden;
};

Value encoder_layer(Value x, const std::string& name, const Sizes& sizes) {
  const LayerNorm norm(1e-6);
  Value y = x.layer_norm(name + ".ln_1", norm)
                .token_linear(name + ".self_attention.in_proj",
                              {.outputs = 3 * sizes.width, .init = Init::xavier, .joined_names = true})
                .attention(sizes.heads)
                .token_linear(name + ".self_attention.out_proj", {.outputs = sizes.width});
  x = y.add(x);
  y = x.layer_norm(name + ".ln_2", norm)
          .token_linear(name + ".mlp.0", {.outputs = sizes.hidden, .init = Init::xavier})
          .gelu()
          .token_linear(name + ".mlp.3", {.outputs = sizes.width, .init = Init::xavier});
  return y.add(x);
}

Model transformer_of_patches(Shape input, std::uint32_t classes, const Sizes& sizes) {
  Model model(input, classes);
  const Conv2d patches{.channels = sizes.width, .kernel = sizes.patch, .stride = sizes.patch};
  Value x = model.input_value()
                .conv2d("conv_proj", patches)
                .tokens()
                .class_token("class_token")
                .position_embedding("encoder.pos_embedding", {.bare = true, .batch_axis = true});
  for (std::uint32_t i = 0; i < sizes.layers; ++i) {
    x = encoder_layer(x, "encoder.layers.encoder_layer_" + std::to_string(i), sizes);
  }
  x.layer_norm("encoder.ln", LayerNorm(1e-6)).select_token(0).linear("heads.head", classes);
  return model;
}

}  // namespace

Model vit(Shape input, std::uint32_t classes, const Options&) {
  return transformer_of_patches(input, classes, {4, 512, 6, 8, 512});
}

Model vit_b16(Shape input, std::uint32_t classes, const Options&) {
  return transformer_of_patches(input, classes, {16, 768, 12, 12, 3072}).compute_at_once(8);
}

}  // namespace steelyard::nn
