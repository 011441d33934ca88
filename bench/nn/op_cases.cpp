#include "bench/nn/op_cases.h"

#include <tuple>
#include <type_traits>
#include <variant>

#include "nn/models/convolution.h"

namespace steelyard::bench {
namespace {

using namespace nn;

template <class Kind>
struct Row {
  const char* detail;
  Kind op;
  std::vector<Shape> inputs;
  Order order;

  Row(const char* detail_, Kind op_, std::vector<Shape> inputs_, Order order_ = Order::samples)
      : detail(detail_), op(op_), inputs(std::move(inputs_)), order(order_) {}
};

auto rows() {
  using Act = Activation::Kind;
  const auto conv = [](std::uint32_t channels, std::uint32_t kernel, std::uint32_t stride,
                       std::uint32_t groups) {
    return unbiased(channels, kernel, stride, Init::fan_in, groups);
  };
  const Shape wide{32, 32, 16}, picture{16, 16, 64}, shuffled{16, 16, 116}, tokens{1, 64, 256};
  return std::tuple{
      Row{"3x3", conv(32, 3, 1, 1), {{16, 16, 32}}},
      Row{"3x3 by 2, to 64", conv(64, 3, 2, 1), {{16, 16, 32}}},
      Row{"1x1, to 256", conv(256, 1, 1, 1), {{8, 8, 64}}},
      Row{"3x3, 4 groups", conv(64, 3, 1, 4), {picture}},
      Row{"3x3, depth-wise", conv(64, 3, 1, 64), {picture}},
      Row{"5x5, to 6, lanes", Conv2d{.channels = 6, .kernel = 5, .padding = 2}, {{28, 28, 1}}, Order::lanes},
      Row{"3x3 by 2", MaxPool(3, 2, 1), {picture}},
      Row{"2x2, lanes", MaxPool(2), {{28, 28, 6}}, Order::lanes},
      Row{"2x2", AveragePool(2), {picture}},
      Row{"3x3 by 1", AveragePool(3, 1, 1), {picture}},
      Row{"", GlobalAveragePool(), {picture}},
      Row{"", ChannelShuffle(2), {shuffled}},
      Row{"half", ChannelSlice(58, 116), {shuffled}},
      Row{"", Activation(Act::relu), {wide}},
      Row{"", Activation(Act::gelu), {wide}},
      Row{"", Activation(Act::gelu_tanh), {wide}},
      Row{"", Activation(Act::silu), {wide}},
      Row{"", Activation(Act::hard_swish), {wide}},
      Row{"", Activation(Act::sigmoid), {wide}},
      Row{"", Activation(Act::tanh), {wide}},
      Row{"a tenth", Dropout(0.1), {tokens}},
      Row{"half, lanes", Dropout(0.5), {{1, 1, 512}}, Order::lanes},
      Row{"to 512", Linear{.outputs = 512}, {{1, 1, 784}}},
      Row{"to 120, lanes", Linear{.outputs = 120}, {{5, 5, 16}}, Order::lanes},
      Row{"to 1024", TokenLinear{.outputs = 1024}, {tokens}},
      Row{"", BatchNorm(), {wide}},
      Row{"", BatchNorm(), {{16, 16, 65}}},
      Row{"+ b, ReLU", BatchNorm(), {wide, wide}},
      Row{"", LayerNorm(), {tokens}},
      Row{"32 groups", GroupNorm(32), {picture}},
      Row{"2 groups", GroupNorm(2), {wide}},
      Row{"", Add(), {wide, wide}},
      Row{"", Scale(), {{16, 16, 96}, {1, 1, 96}}},
      Row{"and 32", Concat(), {{16, 16, 96}, {16, 16, 32}}},
      Row{"256 rows of 256", Embedding{.rows = 256, .features = 256}, {{1, 64, 1}}},
      Row{"", PositionEmbedding{}, {tokens}},
      Row{"", ClassToken(), {tokens}},
      Row{"", SelectToken(), {{1, 65, 256}}},
      Row{"copied", Tokens(), {{8, 8, 192}}},
      Row{"4 heads", Attention(4, false), {{1, 64, 768}}},
      Row{"causal", Attention(4, true), {{1, 64, 768}}},
  };
}

template <class... Kinds, class... Shown>
constexpr bool all_shown(std::type_identity<std::variant<Kinds...>>,
                         std::type_identity<std::tuple<Row<Shown>...>>) {
  const auto is_shown = []<class Kind>(std::type_identity<Kind>) {
    return (std::is_same_v<Kind, Shown> || ...);
  };
  return (is_shown(std::type_identity<Kinds>{}) && ...);
}
static_assert(all_shown(std::type_identity<OpKind>{}, std::type_identity<decltype(rows())>{}),
              "an op of include/steelyard/layers.h has no row above");

}  // namespace

std::vector<OpCase> op_cases() {
  return std::apply(
      [](const auto&... row) {
        return std::vector<OpCase>{{row.detail, row.op, row.inputs, row.order}...};
      },
      rows());
}

}  // namespace steelyard::bench
