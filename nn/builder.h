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

// Self has then_op(name, kind), which adds an op behind it and returns a Result. Each op of STEELYARD_OPS has
// its word; some have a shorter one beside it.
template <class Self, class Result>
class Builder {
 public:
#define STEELYARD_NAMED(Kind, word) \
  Result word(std::string name, const Kind& options = Kind()) { return then(std::move(name), options); }
#define STEELYARD_BARE(Kind, word)     \
  template <class... Options>          \
  Result word(Options... options) {    \
    return then({}, Kind(options...)); \
  }
#define STEELYARD_JOINED(Kind, word)
  STEELYARD_OPS(STEELYARD_NAMED, STEELYARD_BARE, STEELYARD_JOINED)
#undef STEELYARD_NAMED
#undef STEELYARD_BARE
#undef STEELYARD_JOINED

  Result linear(std::string name, std::uint32_t outputs) { return linear(std::move(name), Linear{outputs}); }
  Result relu() { return activation(Activation::Kind::relu); }
  Result relu6() { return activation(Activation::Kind::relu6); }
  Result gelu() { return activation(Activation::Kind::gelu); }
  Result silu() { return activation(Activation::Kind::silu); }
  Result hard_swish() { return activation(Activation::Kind::hard_swish); }
  Result sigmoid() { return activation(Activation::Kind::sigmoid); }
  Result tanh() { return activation(Activation::Kind::tanh); }

 private:
  Result then(std::string name, OpKind kind) {
    return static_cast<Self*>(this)->then_op(std::move(name), std::move(kind));
  }
};

}  // namespace steelyard::nn
