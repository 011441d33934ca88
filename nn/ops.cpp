#include <steelyard/layers.h>

#include <array>
#include <cmath>

#include "core/error.h"

namespace steelyard::nn {
namespace {

void require(bool condition, const std::string& trouble) {
  if (!condition) throw Failure(ExitCode::configuration, trouble);
}

// The number of windows along one side. In 64 bits, so that too large a padding is detected.
std::uint32_t windows(std::uint32_t length, std::uint32_t window, std::uint32_t stride, std::uint32_t padding,
                      const char* what) {
  const std::uint64_t padded = length + std::uint64_t{2} * padding;
  require(window <= padded, "its " + std::string(what) + " of " + std::to_string(window) +
                                " does not fit: add padding, or use a smaller one");
  return static_cast<std::uint32_t>((padded - window) / stride + 1);
}

template <class Pool>
Shape pooled(const Pool& pool, Shape in) {
  require(pool.size > 0, "has windows of size 0: give a size of at least 1");
  require(pool.padding * std::uint64_t{2} <= pool.size,
          "has a padding of " + std::to_string(pool.padding) + ": give at most half of the window");
  return {windows(in.height, pool.size, pool.stride, pool.padding, "window"),
          windows(in.width, pool.size, pool.stride, pool.padding, "window"), in.channels};
}

Initializer initializer(Init init, double fan_in, double fan_out) {
  switch (init) {
    case Init::he_fan_out:
      return {Initializer::Kind::normal, std::sqrt(2 / fan_out)};
    case Init::he_fan_in:
      return {Initializer::Kind::normal, std::sqrt(2 / fan_in)};
    case Init::small:
      return {Initializer::Kind::normal, 0.02};
    case Init::xavier:
      return {Initializer::Kind::uniform, std::sqrt(6 / (fan_in + fan_out))};
    case Init::fan_in:
      break;
  }
  return {Initializer::Kind::uniform, 1 / std::sqrt(fan_in)};
}

// A weight, and optionally a bias.
ParameterSpecs weight_and_bias(std::vector<std::uint64_t> shape, bool bias, Init init, double fan_in,
                               double fan_out) {
  const std::uint64_t outputs = shape[0];
  ParameterSpecs specs{
      {.name = "weight", .shape = std::move(shape), .begins = initializer(init, fan_in, fan_out)}};
  if (!bias) return specs;
  ParameterSpec spec{.name = "bias", .shape = {outputs}};
  if (init == Init::fan_in) spec.begins = specs[0].begins;
  specs.push_back(std::move(spec));
  return specs;
}

template <class Op>
ParameterSpecs linear_parameters(const Op& op, std::uint64_t features) {
  const auto in = static_cast<double>(features);
  return weight_and_bias({op.outputs, features}, op.bias, op.init, in, op.outputs);
}

// Scale and shift of a norm start as the identity, and are exempt from decay.
ParameterSpecs norm_parameters(std::uint64_t features) {
  return {{.name = "weight", .shape = {features}, .begins = {Initializer::Kind::constant, 1}, .decay = false},
          {.name = "bias", .shape = {features}, .decay = false}};
}

void require_groups(std::uint32_t groups, Shape in) {
  require(groups > 0 && in.channels % groups == 0,
          "has " + std::to_string(groups) + " groups: give a number that divides the channels");
}

void require_sequence(Shape in) { require(in.height == 1, "is for sequences: put tokens() before it"); }

}  // namespace

const char* name_of(const OpKind& kind) {
  static constexpr std::array kinds{"relu",       "relu6",        "gelu",    "gelu_tanh", "silu",
                                    "hard_swish", "hard_sigmoid", "sigmoid", "tanh"};
#define STEELYARD_WORD(Kind, word) #word,
  static constexpr std::array words{STEELYARD_OPS(STEELYARD_WORD, STEELYARD_WORD, STEELYARD_WORD)};
#undef STEELYARD_WORD
  const auto* activation = std::get_if<Activation>(&kind);
  return activation == nullptr ? words[kind.index()] : kinds[static_cast<std::size_t>(activation->kind)];
}

Shape Conv2d::shape(Shapes in) const {
  require(channels > 0 && kernel.rows > 0 && kernel.columns > 0 && stride > 0,
          "needs channels, kernel and stride of at least 1");
  require(groups > 0 && in[0].channels % groups == 0 && channels % groups == 0,
          "has " + std::to_string(groups) +
              " groups: give a number that divides the channels of input and output");
  return {windows(in[0].height, kernel.rows, stride, padding.rows, "kernel"),
          windows(in[0].width, kernel.columns, stride, padding.columns, "kernel"), channels};
}

ParameterSpecs Conv2d::parameters(Shapes in) const {
  const double window = static_cast<double>(kernel.rows) * kernel.columns;
  return weight_and_bias({channels, in[0].channels / groups, kernel.rows, kernel.columns}, bias, init,
                         window * in[0].channels / groups, window * channels / groups);
}

double Conv2d::products(Shapes in) const {
  const Shape out = shape(in);
  return static_cast<double>(out.size()) * kernel.rows * kernel.columns * in[0].channels / groups;
}

Shape MaxPool::shape(Shapes in) const { return pooled(*this, in[0]); }
Shape AveragePool::shape(Shapes in) const { return pooled(*this, in[0]); }

Shape ChannelShuffle::shape(Shapes in) const {
  require_groups(groups, in[0]);
  return in[0];
}

Shape ChannelSlice::shape(Shapes in) const {
  require(begin < end && end <= in[0].channels,
          "takes channels " + std::to_string(begin) + " to " + std::to_string(end) + ", which do not exist");
  return {in[0].height, in[0].width, end - begin};
}

Shape Dropout::shape(Shapes in) const {
  require(probability >= 0 && probability < 1,
          "would drop a share of " + std::to_string(probability) + ": give a probability in [0, 1)");
  return in[0];
}

Shape Linear::shape(Shapes) const {
  require(outputs > 0, "has no outputs: give at least 1");
  return {1, 1, outputs};
}
ParameterSpecs Linear::parameters(Shapes in) const { return linear_parameters(*this, in[0].size()); }
double Linear::products(Shapes in) const { return static_cast<double>(in[0].size()) * outputs; }

Shape TokenLinear::shape(Shapes in) const {
  require(outputs > 0, "has no outputs: give at least 1");
  return {in[0].height, in[0].width, outputs};
}
ParameterSpecs TokenLinear::parameters(Shapes in) const {
  ParameterSpecs specs = linear_parameters(*this, in[0].channels);
  specs[0].begins.value *= scale;
  for (ParameterSpec& spec : specs) spec.name = (joined_names ? "_" : "") + spec.name;
  return specs;
}
double TokenLinear::products(Shapes in) const { return static_cast<double>(in[0].size()) * outputs; }

ParameterSpecs BatchNorm::parameters(Shapes in) const {
  const std::uint64_t channels = in[0].channels;
  ParameterSpecs specs = norm_parameters(channels);
  specs.push_back(
      {.name = "running_mean", .shape = {channels}, .rule = Rule::ema, .decay = false, .keep = keep});
  specs.push_back({.name = "running_var",
                   .shape = {channels},
                   .begins = {Initializer::Kind::constant, 1},
                   .rule = Rule::ema,
                   .decay = false,
                   .keep = keep});
  return specs;
}

ParameterSpecs LayerNorm::parameters(Shapes in) const { return norm_parameters(in[0].channels); }

Shape GroupNorm::shape(Shapes in) const {
  require_groups(groups, in[0]);
  return in[0];
}
ParameterSpecs GroupNorm::parameters(Shapes in) const { return norm_parameters(in[0].channels); }

Shape Add::shape(Shapes in) const {
  require(in[0] == in[1], "adds inputs of other shapes");
  return in[0];
}

Shape Scale::shape(Shapes in) const {
  require(in[1] == Shape{1, 1, in[0].channels}, "needs a vector of one number a channel as its second input");
  return in[0];
}

Shape Concat::shape(Shapes in) const {
  Shape all{in[0].height, in[0].width, 0};
  for (const Shape& one : in) {
    require(one.height == all.height && one.width == all.width, "joins inputs of other height or width");
    all.channels += one.channels;
  }
  return all;
}

Shape Embedding::shape(Shapes in) const {
  require_sequence(in[0]);
  require(in[0].channels == 1, "takes one number a token");
  require(rows > 0 && features > 0, "needs rows and features of at least 1");
  return {1, in[0].width, features};
}

ParameterSpecs Embedding::parameters(Shapes) const {
  return {{.name = "weight", .shape = {rows, features}, .begins = {Initializer::Kind::normal, 0.02}}};
}

Shape PositionEmbedding::shape(Shapes in) const {
  require_sequence(in[0]);
  require(
      rows == 0 || first_only || in[0].width <= rows,
      "has " + std::to_string(rows) + " places for " + std::to_string(in[0].width) + " tokens: give more");
  return in[0];
}

ParameterSpecs PositionEmbedding::parameters(Shapes in) const {
  std::vector<std::uint64_t> shape{rows == 0 ? in[0].width : rows, in[0].channels};
  if (batch_axis) shape.insert(shape.begin(), 1);
  return {{.name = bare ? "" : "weight",
           .shape = std::move(shape),
           .begins = {Initializer::Kind::normal, 0.02},
           .decay = false}};
}

Shape ClassToken::shape(Shapes in) const {
  require_sequence(in[0]);
  return {1, in[0].width + 1, in[0].channels};
}
ParameterSpecs ClassToken::parameters(Shapes in) const {
  return {{.name = "",
           .shape = {1, 1, in[0].channels},
           .begins = {Initializer::Kind::normal, 0.02},
           .decay = false}};
}

Shape SelectToken::shape(Shapes in) const {
  require_sequence(in[0]);
  require(token < in[0].width, "selects token " + std::to_string(token) + ", which does not exist");
  return {1, 1, in[0].channels};
}

Shape Attention::shape(Shapes in) const {
  require_sequence(in[0]);
  require(
      heads > 0 && in[0].channels % (3 * heads) == 0,
      "needs three vectors a token, each of a length that its " + std::to_string(heads) + " heads divide");
  return {1, in[0].width, in[0].channels / 3};
}
double Attention::products(Shapes in) const {
  return 2.0 * in[0].width * in[0].width * (static_cast<double>(in[0].channels) / 3);
}

}  // namespace steelyard::nn
