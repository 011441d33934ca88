// The ops: what a node of a graph may compute. Each is a small struct of options that knows the shape it
// delivers, the parameters it learns, and what it costs. STEELYARD_OPS lists them, one row an op: from it
// follow OpKind, the functions that every backend has (nn/op_table.h), the words that a model is described
// with (steelyard/model.h), and what tests go through (tests/nn/ops/op_cases.h).
//
// Shapes are of one sample (shape.h). A picture is height x width x channels; a sequence is 1 x tokens x
// features; a vector is 1 x 1 x features. shape() and parameters() get the shapes of the inputs, and throw
// Failure (configuration) if they do not fit, with a text that goes on after "layer 'conv1' gets ... and".
//
// Names and shapes of parameters are those of PyTorch's modules, so that safetensors files fit both ways.
#pragma once

#include <steelyard/parameters.h>
#include <steelyard/shape.h>

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace steelyard::nn {

// What a model ends with; the equations are in nn/loss.h.
enum class Loss : std::uint8_t { softmax_cross_entropy, hinge };

// How a tensor begins.
struct Initializer {
  enum class Kind : std::uint8_t {
    constant,  // value
    uniform,   // in +-value
    normal,    // mean 0, deviation `value`
  };
  Kind kind = Kind::constant;
  double value = 0;
  friend bool operator==(const Initializer&, const Initializer&) = default;
};

// Weights of convolutions, linear layers and embeddings; biases follow with the first and are zero with the
// others.
enum class Init : std::uint8_t {
  fan_in,      // uniform in +-1/sqrt(fan in): He et al. 2015 with a = sqrt(5), the default of PyTorch
  he_fan_in,   // normal, deviation sqrt(2 / fan in): He et al. 2015 for ReLU
  he_fan_out,  // the same by fan out
  small,       // normal, deviation 0.02: GPT-2 and BERT
  xavier,      // uniform in +-sqrt(6 / (fan in + fan out)): Glorot and Bengio 2010
};

// One tensor of parameters of an op, as the servers treat it.
struct ParameterSpec {
  std::string name;  // behind the layer's: "weight"
  std::vector<std::uint64_t> shape;
  Initializer begins{};
  Rule rule = Rule::step;
  bool decay = true;
  double keep = 0.9;  // of rule ema: parameters.h
};

using Shapes = std::span<const Shape>;
using ParameterSpecs = std::vector<ParameterSpec>;

// A number for rows and one for columns; one number means both.
struct Pair {
  std::uint32_t rows, columns;
  constexpr Pair(std::uint32_t both) : rows(both), columns(both) {}  // NOLINT: that is its purpose
  constexpr Pair(std::uint32_t r, std::uint32_t c) : rows(r), columns(c) {}
  friend bool operator==(Pair, Pair) = default;
};

// What an op has unless it says otherwise: one input, its shape, no parameters, no products.
struct Plain {
  [[nodiscard]] Shape shape(Shapes in) const { return in[0]; }
  [[nodiscard]] ParameterSpecs parameters(Shapes) const { return {}; }
  // Multiply-adds of one sample, forward, that grow with parameters or with the square of the tokens.
  [[nodiscard]] double products(Shapes) const { return 0; }
  static constexpr std::uint32_t inputs = 1;
};

// ---- pictures

// out[y][x][o] = bias[o] + sum over r, s, i of weight[o][i][r][s] * in[y t + r - p][x t + s - p][i], where
// places outside the picture count as zero. With groups, channels [o] see only the inputs of their group.
struct Conv2d {
  std::uint32_t channels = 0;  // of the output
  Pair kernel = 0;
  std::uint32_t stride = 1;
  Pair padding = 0;          // on both sides
  std::uint32_t groups = 1;  // as many as input channels: depth-wise
  bool bias = true;
  Init init = Init::fan_in;

  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
  [[nodiscard]] double products(Shapes in) const;
  static constexpr std::uint32_t inputs = 1;
};

// The greatest, or the mean, of each window of size x size; only windows that fit the padded picture. Padding
// is never the greatest, and counts as zero in a mean.
struct MaxPool : Plain {
  std::uint32_t size = 2;
  std::uint32_t stride = 0;  // 0: the size
  std::uint32_t padding = 0;
  explicit MaxPool(std::uint32_t size_ = 2, std::uint32_t stride_ = 0, std::uint32_t padding_ = 0)
      : size(size_), stride(stride_ == 0 ? size_ : stride_), padding(padding_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
};
struct AveragePool : Plain {
  std::uint32_t size = 2;
  std::uint32_t stride = 0;
  std::uint32_t padding = 0;
  explicit AveragePool(std::uint32_t size_ = 2, std::uint32_t stride_ = 0, std::uint32_t padding_ = 0)
      : size(size_), stride(stride_ == 0 ? size_ : stride_), padding(padding_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
};
// The mean of each channel over all places (or of each feature over all tokens).
struct GlobalAveragePool : Plain {
  [[nodiscard]] Shape shape(Shapes in) const { return {1, 1, in[0].channels}; }
};
// Channels in `groups` rows of equal length, read column by column (Zhang et al. 2018, ShuffleNet).
struct ChannelShuffle : Plain {
  std::uint32_t groups = 2;
  explicit ChannelShuffle(std::uint32_t groups_) : groups(groups_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
};
// Channels [begin, end).
struct ChannelSlice : Plain {
  std::uint32_t begin = 0, end = 0;
  ChannelSlice(std::uint32_t begin_, std::uint32_t end_) : begin(begin_), end(end_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
};

// ---- anywhere
struct Activation : Plain {
  enum class Kind : std::uint8_t {
    relu,          // max(0, x)
    relu6,         // min(6, max(0, x))
    gelu,          // x * Phi(x), exactly (Hendrycks and Gimpel 2016)
    gelu_tanh,     // the same by its approximation with tanh
    silu,          // x * sigmoid(x)
    hard_swish,    // x * relu6(x + 3) / 6
    hard_sigmoid,  // relu6(x + 3) / 6
    sigmoid,
    tanh,
  };
  Kind kind = Kind::relu;
  explicit Activation(Kind kind_) : kind(kind_) {}
};
// Each feature becomes zero with this probability, and is divided by 1 - probability if not; in training
// only. Which ones is a function of seed, epoch, position and place in the graph.
struct Dropout : Plain {
  double probability = 0.5;
  explicit Dropout(double probability_) : probability(probability_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
};
// Takes the whole sample as one vector, channel by channel: out[o] = bias[o] + sum weight[o][i] in[i].
struct Linear {
  std::uint32_t outputs = 0;
  bool bias = true;
  Init init = Init::fan_in;
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
  [[nodiscard]] double products(Shapes in) const;
  static constexpr std::uint32_t inputs = 1;
};
// The same layer for every token (or pixel): out[t][o] = bias[o] + sum weight[o][i] in[t][i].
struct TokenLinear {
  std::uint32_t outputs = 0;
  bool bias = true;
  Init init = Init::fan_in;
  double scale = 1;           // of what the weights begin with
  bool joined_names = false;  // in_proj_weight instead of in_proj.weight
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
  [[nodiscard]] double products(Shapes in) const;
  static constexpr std::uint32_t inputs = 1;
};

// ---- norms: (x - mean) / sqrt(variance + epsilon) * weight + bias, per channel

// Mean and variance of a channel over all places of all samples of the micro-batch, which is a grain of the
// round (Job::grain); in an evaluation, their running averages (Ioffe and Szegedy 2015). What a training
// pass gives to running_mean and running_var is the statistic (the variance unbiased) times the samples.
struct BatchNorm : Plain {
  double epsilon = 1e-5;
  double keep = 0.9;  // of the running averages; PyTorch's momentum is 1 - keep
  explicit BatchNorm(double epsilon_ = 1e-5, double keep_ = 0.9) : epsilon(epsilon_), keep(keep_) {}
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};
// Over the features of a token (Ba et al. 2016).
struct LayerNorm : Plain {
  double epsilon = 1e-5;
  explicit LayerNorm(double epsilon_ = 1e-5) : epsilon(epsilon_) {}
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};
// Over all places of a sample and the channels of a group (Wu and He 2018).
struct GroupNorm : Plain {
  std::uint32_t groups = 32;
  double epsilon = 1e-5;
  explicit GroupNorm(std::uint32_t groups_ = 32, double epsilon_ = 1e-5)
      : groups(groups_), epsilon(epsilon_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};

// ---- of several inputs
struct Add : Plain {  // a + b, of one shape
  [[nodiscard]] Shape shape(Shapes in) const;
  static constexpr std::uint32_t inputs = 2;
};
struct Scale : Plain {  // each channel of a times the vector b's number for it (squeeze and excite)
  [[nodiscard]] Shape shape(Shapes in) const;
  static constexpr std::uint32_t inputs = 2;
};
struct Concat : Plain {  // channels behind each other; pictures of one height and width
  [[nodiscard]] Shape shape(Shapes in) const;
  static constexpr std::uint32_t inputs = 0;  // two or more
};

// ---- sequences

// Takes 1 x tokens x 1 numbers of rows of the table: out[t] = weight[in[t]]. A number that is no row counts
// as row 0 (data sets see to it that there is none).
struct Embedding {
  std::uint32_t rows = 0, features = 0;
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
  [[nodiscard]] double products(Shapes) const { return 0; }
  static constexpr std::uint32_t inputs = 1;
};
// Adds a learned vector for each place in the sequence: out[t] = in[t] + weight[t].
struct PositionEmbedding {
  std::uint32_t rows = 0;   // of the table; 0: as many as tokens. Rows behind the last token are not used
  bool first_only = false;  // all tokens take row 0 (token types of texts of one part)
  bool bare = false;        // the tensor has the layer's own name
  bool batch_axis = false;  // the tensor is [1][rows][features]
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] double products(Shapes) const { return 0; }
  static constexpr std::uint32_t inputs = 1;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};
// Puts a learned token before the sequence.
struct ClassToken : Plain {
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};
struct SelectToken : Plain {
  std::uint32_t token = 0;
  explicit SelectToken(std::uint32_t token_ = 0) : token(token_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
};
// A picture's places as tokens, in reading order.
struct Tokens : Plain {
  [[nodiscard]] Shape shape(Shapes in) const { return {1, in[0].height * in[0].width, in[0].channels}; }
};
// The middle of multi-head attention (Vaswani et al. 2017). Takes queries, keys and values of all heads in a
// row, 3 x features a token, and delivers features a token: for each head, with d = features / heads,
//   out = softmax(Q K^T / sqrt(d)) V
// where, if causal, a token sees none behind it.
struct Attention : Plain {
  std::uint32_t heads = 1;
  bool causal = false;
  explicit Attention(std::uint32_t heads_, bool causal_ = false) : heads(heads_), causal(causal_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] double products(Shapes in) const;
};

// One row an op: its struct and its word. What it is called with says how the builder offers it:
//   NAMED   it learns, so a layer of it has a name: word(name, options)
//   BARE    it does not: word(options...)
//   JOINED  it has several inputs, which the functions of nn/model.h take
#define STEELYARD_OPS(NAMED, BARE, JOINED)     \
  NAMED(Conv2d, conv2d)                        \
  BARE(MaxPool, max_pool)                      \
  BARE(AveragePool, average_pool)              \
  BARE(GlobalAveragePool, global_average_pool) \
  BARE(ChannelShuffle, channel_shuffle)        \
  BARE(ChannelSlice, channel_slice)            \
  BARE(Activation, activation)                 \
  BARE(Dropout, dropout)                       \
  NAMED(Linear, linear)                        \
  NAMED(TokenLinear, token_linear)             \
  NAMED(BatchNorm, batch_norm)                 \
  NAMED(LayerNorm, layer_norm)                 \
  NAMED(GroupNorm, group_norm)                 \
  JOINED(Add, add)                             \
  JOINED(Scale, scale)                         \
  JOINED(Concat, concat)                       \
  NAMED(Embedding, embedding)                  \
  NAMED(PositionEmbedding, position_embedding) \
  NAMED(ClassToken, class_token)               \
  BARE(SelectToken, select_token)              \
  BARE(Tokens, tokens)                         \
  BARE(Attention, attention)

template <class First, class... Kinds>
using OpsBehind = std::variant<Kinds...>;
#define STEELYARD_KIND(Kind, word) , Kind
using OpKind = OpsBehind<void STEELYARD_OPS(STEELYARD_KIND, STEELYARD_KIND, STEELYARD_KIND)>;
#undef STEELYARD_KIND

// The word of an op; of an activation, that of its kind.
const char* name_of(const OpKind& kind);

}  // namespace steelyard::nn
