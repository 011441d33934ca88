#include <cmath>

#include "nn/models.h"

namespace steelyard::nn {
namespace {

// Dosovitskiy et al., "An image is worth 16x16 words" (2021). Pre-norm.

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

Model vit(Shape input, std::uint32_t classes, const Options& options) {
  const auto size = [&](const char* name) { return static_cast<std::uint32_t>(options.whole(name)); };
  const std::uint32_t width = size("width");
  return transformer_of_patches(input, classes, {4, width, size("layers"), size("heads"), width});
}

Model vit_b16(Shape input, std::uint32_t classes, const Options&) {
  return transformer_of_patches(input, classes, {16, 768, 12, 12, 3072}).compute_at_once(8);
}

// Vaswani et al., "Attention is all you need" (2017): its encoder, post-norm, with learned positions.
Model transformer(Shape input, std::uint32_t classes, const Options& options) {
  const auto width = static_cast<std::uint32_t>(options.whole("width"));
  Model model(input, classes);
  Value x = model.input_value()
                .embedding("embedding", {static_cast<std::uint32_t>(options.whole("vocabulary")), width})
                .position_embedding("position", {.bare = true});
  for (int i = 0; i < static_cast<int>(options.whole("layers")); ++i) {
    const std::string name = "layers." + std::to_string(i);
    Value y = x.token_linear(name + ".self_attn.in_proj",
                             {.outputs = 3 * width, .init = Init::xavier, .joined_names = true})
                  .attention(static_cast<std::uint32_t>(options.whole("heads")))
                  .token_linear(name + ".self_attn.out_proj", {.outputs = width});
    x = y.add(x).layer_norm(name + ".norm1");
    y = x.token_linear(name + ".linear1", {.outputs = 4 * width})
            .relu()
            .token_linear(name + ".linear2", {.outputs = width});
    x = y.add(x).layer_norm(name + ".norm2");
  }
  x.global_average_pool().linear("fc", classes);
  return model;
}

// Lan et al., "ALBERT: a lite BERT for self-supervised learning of language representations" (2020), base:
// twelve layers that share parameters, and a small embedding. One text per sample.
Model albert(Shape input, std::uint32_t classes, const Options& options) {
  constexpr std::uint32_t embedding = 128, width = 768, hidden = 3072, heads = 12, layers = 12;
  const LayerNorm norm(1e-12);
  const auto linear = [](std::uint32_t outputs) {
    return TokenLinear{.outputs = outputs, .init = Init::small};
  };
  Model model(input, classes);
  Value x =
      model.input_value()
          .embedding("albert.embeddings.word_embeddings",
                     {static_cast<std::uint32_t>(options.whole("vocabulary")), embedding})
          .position_embedding("albert.embeddings.position_embeddings", {.rows = 512})
          .position_embedding("albert.embeddings.token_type_embeddings", {.rows = 2, .first_only = true})
          .layer_norm("albert.embeddings.LayerNorm", norm)
          .token_linear("albert.encoder.embedding_hidden_mapping_in", linear(width));
  const std::string layer = "albert.encoder.albert_layer_groups.0.albert_layers.0.";
  model.share_parameters();
  for (std::uint32_t i = 0; i < layers; ++i) {
    const Value query = x.token_linear(layer + "attention.query", linear(width));
    const Value key = x.token_linear(layer + "attention.key", linear(width));
    const Value value = x.token_linear(layer + "attention.value", linear(width));
    Value y =
        concat({query, key, value}).attention(heads).token_linear(layer + "attention.dense", linear(width));
    const Value attended = y.add(x).layer_norm(layer + "attention.LayerNorm", norm);
    y = Value(attended)
            .token_linear(layer + "ffn", linear(hidden))
            .activation(Activation::Kind::gelu_tanh)
            .token_linear(layer + "ffn_output", linear(width));
    x = y.add(attended).layer_norm(layer + "full_layer_layer_norm", norm);
  }
  x.select_token(0)
      .linear("albert.pooler", {.outputs = width, .init = Init::small})
      .tanh()
      .linear("classifier", {.outputs = classes, .init = Init::small});
  return model.compute_at_once(4);
}

// Radford et al., "Language models are unsupervised multitask learners" (2019): blocks of a decoder,
// pre-norm. Each token's label is the token after it.
Value decoder(Value x, Activation::Kind activation, const Options& options) {
  const auto width = static_cast<std::uint32_t>(options.whole("width"));
  const auto layers = static_cast<std::uint32_t>(options.whole("layers"));
  const TokenLinear into{.outputs = width, .init = Init::small, .scale = 1 / std::sqrt(2.0 * layers)};
  for (std::uint32_t i = 0; i < layers; ++i) {
    const std::string name = "transformer.h." + std::to_string(i);
    Value y = x.layer_norm(name + ".ln_1")
                  .token_linear(name + ".attn.c_attn", {.outputs = 3 * width, .init = Init::small})
                  .attention(static_cast<std::uint32_t>(options.whole("heads")), true)
                  .token_linear(name + ".attn.c_proj", into);
    x = y.add(x);
    y = x.layer_norm(name + ".ln_2")
            .token_linear(name + ".mlp.c_fc", {.outputs = 4 * width, .init = Init::small})
            .activation(activation)
            .token_linear(name + ".mlp.c_proj", into);
    x = y.add(x);
  }
  return x.layer_norm("transformer.ln_f");
}

// Over bytes.
Model gpt(Shape input, std::uint32_t classes, const Options& options) {
  const auto width = static_cast<std::uint32_t>(options.whole("width"));
  Model model(input, classes);
  const Value x = model.input_value()
                      .embedding("transformer.wte", {classes, width})
                      .position_embedding("transformer.wpe");
  decoder(x, Activation::Kind::gelu, options)
      .token_linear("lm_head", {.outputs = classes, .bias = false, .init = Init::small});
  return model.compute_at_once(8);
}

// In its smallest published size, with its details: the head's weights are the embedding's, and there are
// 1024 positions, of which a sample may use fewer.
Model gpt2(Shape input, std::uint32_t classes, const Options& options) {
  const auto width = static_cast<std::uint32_t>(options.whole("width"));
  Model model(input, classes);
  const Value x = model.input_value()
                      .embedding("transformer.wte", {classes, width})
                      .position_embedding("transformer.wpe", {.rows = 1024});
  Value last = decoder(x, Activation::Kind::gelu_tanh, options);
  model.share_parameters();
  last.token_linear("transformer.wte", {.outputs = classes, .bias = false, .init = Init::small});
  return model.compute_at_once(4);
}

std::vector<Option> sizes(std::uint64_t width, std::uint64_t layers, std::uint64_t heads) {
  return {whole_option("width", width, 1, 16384, "features per token"),
          whole_option("layers", layers, 1, 200, "blocks of attention and a perceptron"),
          whole_option("heads", heads, 1, 256, "attention heads; must divide the width")};
}

Option vocabulary(std::uint64_t otherwise) {
  return whole_option("vocabulary", otherwise, 1, 10'000'000, "number of different tokens");
}

std::vector<Option> with(std::vector<Option> options, Option one) {
  options.push_back(std::move(one));
  return options;
}

}  // namespace

ModelTable transformer_models_rows() {
  return {{"vit", vit, "a transformer of patches of 4 x 4 pixels; for 32 x 32 pixels (Dosovitskiy 2021)",
           sizes(512, 6, 8)},
          {"vit_b16", vit_b16, "vit in size B, with patches of 16 x 16; for 224 x 224 pixels"},
          {"transformer", transformer, "an encoder for text classification (Vaswani 2017)",
           with(sizes(256, 4, 4), vocabulary(1000))},
          {"albert",
           albert,
           "an encoder for text with twelve layers of shared weights (Lan 2020)",
           {vocabulary(30000)}},
          {"gpt", gpt, "a decoder that predicts the next byte (Radford 2019)", sizes(384, 6, 6)},
          {"gpt2", gpt2, "GPT-2 small: the next of up to 1024 tokens, with tied embeddings (Radford 2019)",
           sizes(768, 12, 12)}};
}

}  // namespace steelyard::nn
