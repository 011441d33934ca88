// Builder: the words in which a model is described. A Model has them, and adds behind what was added last;
// a Value has them, and adds behind itself. So a row of layers reads as a sentence, and a branch has a name:
//
//   Value y = x.conv2d("conv1", {.channels = 64, .kernel = 3, .padding = 1}).batch_norm("bn1").relu();
//   return y.conv2d("conv2", ...).add(x).relu();
//
// `name` becomes that of the tensors: "conv1.weight". Ops without parameters name themselves. An op that does
// not fit throws Failure (configuration) at once, naming itself, the shapes it was given and the remedy.
#pragma once

#include <string>
#include <utility>

#include "nn/ops.h"

namespace steelyard::nn {

// Self has then(name, kind), which adds an op behind it and returns a Result.
template <class Self, class Result>
class Builder {
 public:
  Result conv2d(std::string name, const Conv2d& options) { return then(std::move(name), options); }
  Result max_pool(std::uint32_t size, std::uint32_t stride = 0, std::uint32_t padding = 0) {
    return then({}, MaxPool(size, stride, padding));
  }
  Result average_pool(std::uint32_t size, std::uint32_t stride = 0, std::uint32_t padding = 0) {
    return then({}, AveragePool(size, stride, padding));
  }
  Result global_average_pool() { return then({}, GlobalAveragePool{}); }
  Result channel_shuffle(std::uint32_t groups) { return then({}, ChannelShuffle(groups)); }
  Result channel_slice(std::uint32_t begin, std::uint32_t end) { return then({}, ChannelSlice(begin, end)); }

  Result activation(Activation::Kind kind) { return then({}, Activation(kind)); }
  Result relu() { return activation(Activation::Kind::relu); }
  Result relu6() { return activation(Activation::Kind::relu6); }
  Result gelu() { return activation(Activation::Kind::gelu); }
  Result silu() { return activation(Activation::Kind::silu); }
  Result hard_swish() { return activation(Activation::Kind::hard_swish); }
  Result sigmoid() { return activation(Activation::Kind::sigmoid); }
  Result tanh() { return activation(Activation::Kind::tanh); }
  Result dropout(double probability) { return then({}, Dropout(probability)); }

  // Of the whole sample as one vector, channel by channel.
  Result linear(std::string name, std::uint32_t outputs) { return linear(std::move(name), Linear{outputs}); }
  Result linear(std::string name, const Linear& options) { return then(std::move(name), options); }
  // Of each token, or pixel.
  Result token_linear(std::string name, const TokenLinear& options) { return then(std::move(name), options); }

  Result batch_norm(std::string name, BatchNorm options = BatchNorm{}) {
    return then(std::move(name), options);
  }
  Result layer_norm(std::string name, LayerNorm options = LayerNorm{}) {
    return then(std::move(name), options);
  }
  Result group_norm(std::string name, GroupNorm options) { return then(std::move(name), options); }

  Result tokens() { return then({}, Tokens{}); }
  Result embedding(std::string name, const Embedding& options) { return then(std::move(name), options); }
  Result position_embedding(std::string name, PositionEmbedding options = {}) {
    return then(std::move(name), std::move(options));
  }
  Result class_token(std::string name) { return then(std::move(name), ClassToken{}); }
  Result select_token(std::uint32_t token) { return then({}, SelectToken(token)); }
  Result attention(std::uint32_t heads, bool causal = false) { return then({}, Attention(heads, causal)); }

 private:
  Result then(std::string name, OpKind kind) {
    return static_cast<Self*>(this)->then_op(std::move(name), std::move(kind));
  }
};

}  // namespace steelyard::nn
