// The ops: the operations that nodes of a graph may compute. Each is a small struct of options with functions
// for its output shape, its parameters and its cost. STEELYARD_OPS lists them, one row per op. The list
// generates OpKind, the functions of every backend (nn/op_table.h), the methods of the model builder
// (steelyard/model.h) and the test cases (tests/nn/ops/op_cases.h).
//
// Shapes are of one sample (shape.h). A picture is height x width x channels; a sequence is 1 x tokens x
// features; a vector is 1 x 1 x features. shape() and parameters() take the shapes of the inputs. If these do
// not fit, they throw Failure (configuration) with a text that continues "layer 'conv1' gets ... and".
//
// Names and shapes of parameters are those of PyTorch's modules, so safetensors files can be exchanged.
#pragma once

#include <steelyard/parameters.h>
#include <steelyard/shape.h>

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace steelyard::nn {

// Equations are in nn/loss.h.
enum class Loss : std::uint8_t {
  softmax_cross_entropy,
  hinge,
  // Of targets (DataSet::targets()) instead of class labels:
  mean_squared_error,
  mean_absolute_error,
  binary_cross_entropy,
};

// Whether a model with this loss computes a number for each target, instead of a score for each class.
constexpr bool takes_targets(Loss loss) { return loss >= Loss::mean_squared_error; }
// Whether the loss counts right answers: only then a model has an accuracy.
constexpr bool counts_answers(Loss loss) {
  return !takes_targets(loss) || loss == Loss::binary_cross_entropy;
}

// Initial values of a tensor.
struct Initializer {
  enum class Kind : std::uint8_t {
    constant,  // value
    uniform,   // in +-value
    normal,    // mean 0, standard deviation `value`
  };
  Kind kind = Kind::constant;
  double value = 0;
  friend bool operator==(const Initializer&, const Initializer&) = default;
};

// Initialisation of weights of convolutions, linear layers and embeddings. With fan_in, biases have the same
// distribution as the weights; with the others they are zero.
enum class Init : std::uint8_t {
  fan_in,      // uniform in +-1/sqrt(fan in): He et al. 2015 with a = sqrt(5), the default of PyTorch
  he_fan_in,   // normal, standard deviation sqrt(2 / fan in): He et al. 2015 for ReLU
  he_fan_out,  // normal, standard deviation sqrt(2 / fan out)
  small,       // normal, standard deviation 0.02: GPT-2 and BERT
  xavier,      // uniform in +-sqrt(6 / (fan in + fan out)): Glorot and Bengio 2010
};

// One parameter tensor of an op, and how servers update it (Range in parameters.h).
struct ParameterSpec {
  std::string name;  // "weight"; the full name is "layer.weight"
  std::vector<std::uint64_t> shape;
  Initializer begins{};
  Rule rule = Rule::step;
  bool decay = true;  // whether weight decay applies
  double keep = 0.9;  // for Rule::ema: weight of the previous version
};

using Shapes = std::span<const Shape>;
using ParameterSpecs = std::vector<ParameterSpec>;

// (rows, columns); a single number sets both.
struct Pair {
  std::uint32_t rows, columns;
  constexpr Pair(std::uint32_t both) : rows(both), columns(both) {}  // NOLINT: implicit on purpose
  constexpr Pair(std::uint32_t r, std::uint32_t c) : rows(r), columns(c) {}
  friend bool operator==(Pair, Pair) = default;
};

// Defaults for an op: one input, output of the same shape, no parameters, no products.
struct Plain {
  [[nodiscard]] Shape shape(Shapes in) const { return in[0]; }
  [[nodiscard]] ParameterSpecs parameters(Shapes) const { return {}; }
  // Multiply-adds of matrix products, convolutions and attention, for the forward pass of one sample.
  [[nodiscard]] double products(Shapes) const { return 0; }
  static constexpr std::uint32_t inputs = 1;
};

// ---- pictures

// With stride t and padding p,
//   out[y][x][o] = bias[o] + sum over r, s, i of weight[o][i][r][s] * in[y t + r - p][x t + s - p][i],
// where pixels outside the picture are zero. With groups, i covers only the input channels of o's group.
struct Conv2d {
  std::uint32_t channels = 0;  // of the output
  Pair kernel = 0;
  std::uint32_t stride = 1;
  Pair padding = 0;          // on both sides
  std::uint32_t groups = 1;  // depth-wise if equal to the number of input channels
  bool bias = true;
  Init init = Init::fan_in;

  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
  [[nodiscard]] double products(Shapes in) const;
  static constexpr std::uint32_t inputs = 1;
};

// The maximum, or the mean, of each window of size x size that lies inside the padded picture. MaxPool
// ignores padding; AveragePool counts it as zeros.
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
// The mean of each channel over all pixels (of each feature over all tokens). The output is a vector.
struct GlobalAveragePool : Plain {
  [[nodiscard]] Shape shape(Shapes in) const { return {1, 1, in[0].channels}; }
};
// Writes the channels as `groups` rows of equal length and reads them column by column (Zhang et al. 2018,
// ShuffleNet).
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

// ---- for any shape
struct Activation : Plain {
  enum class Kind : std::uint8_t {
    relu,          // max(0, x)
    relu6,         // min(6, max(0, x))
    gelu,          // x * Phi(x), exactly (Hendrycks and Gimpel 2016)
    gelu_tanh,     // gelu, approximated with tanh
    silu,          // x * sigmoid(x)
    hard_swish,    // x * relu6(x + 3) / 6
    hard_sigmoid,  // relu6(x + 3) / 6
    sigmoid,
    tanh,
  };
  Kind kind = Kind::relu;
  explicit Activation(Kind kind_) : kind(kind_) {}
};
// In training, sets each feature to zero with this probability and divides the others by 1 - probability.
// The choice is a pure function of seed, epoch, position and the node's index in the graph.
struct Dropout : Plain {
  double probability = 0.5;
  explicit Dropout(double probability_) : probability(probability_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
};
// Flattens the sample channel by channel, as PyTorch does: out[o] = bias[o] + sum weight[o][i] in[i].
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
  double scale = 1;           // factor on the initial weights
  bool joined_names = false;  // tensor names like in_proj_weight instead of in_proj.weight
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
  [[nodiscard]] double products(Shapes in) const;
  static constexpr std::uint32_t inputs = 1;
};

// ---- norms: (x - mean) / sqrt(variance + epsilon) * weight + bias, per channel

// Training uses mean and variance of a channel over all pixels of all samples of the micro-batch, which is
// one grain of the round (Job::grain). Evaluation uses their running averages (Ioffe and Szegedy 2015). The
// "gradient" of running_mean and running_var is the statistic (the variance unbiased) times the number of
// samples.
struct BatchNorm : Plain {
  double epsilon = 1e-5;
  double keep = 0.9;  // weight of the old running average; PyTorch's momentum is 1 - keep
  explicit BatchNorm(double epsilon_ = 1e-5, double keep_ = 0.9) : epsilon(epsilon_), keep(keep_) {}
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};
// Mean and variance over the features of a token (Ba et al. 2016).
struct LayerNorm : Plain {
  double epsilon = 1e-5;
  explicit LayerNorm(double epsilon_ = 1e-5) : epsilon(epsilon_) {}
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};
// Mean and variance over all pixels of a sample and the channels of a group (Wu and He 2018).
struct GroupNorm : Plain {
  std::uint32_t groups = 32;
  double epsilon = 1e-5;
  explicit GroupNorm(std::uint32_t groups_ = 32, double epsilon_ = 1e-5)
      : groups(groups_), epsilon(epsilon_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};

// ---- with several inputs
struct Add : Plain {  // a + b, of the same shape
  [[nodiscard]] Shape shape(Shapes in) const;
  static constexpr std::uint32_t inputs = 2;
};
struct Scale : Plain {  // out[y][x][c] = a[y][x][c] * b[c], for a vector b (squeeze and excite)
  [[nodiscard]] Shape shape(Shapes in) const;
  static constexpr std::uint32_t inputs = 2;
};
struct Concat : Plain {  // concatenates channels of pictures of the same height and width
  [[nodiscard]] Shape shape(Shapes in) const;
  static constexpr std::uint32_t inputs = 0;  // two or more
};

// ---- sequences

// The input is 1 x tokens x 1 row indices: out[t] = weight[in[t]]. An index out of range reads row 0; data
// sets reject such indices earlier.
struct Embedding {
  std::uint32_t rows = 0, features = 0;
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
  [[nodiscard]] double products(Shapes) const { return 0; }
  static constexpr std::uint32_t inputs = 1;
};
// Adds a learned vector for each place t in the sequence: out[t] = in[t] + weight[t].
struct PositionEmbedding {
  std::uint32_t rows = 0;   // of the table; 0: the number of tokens. Rows after the last token are not used
  bool first_only = false;  // all tokens use row 0 (token types of single-segment texts, as in BERT)
  bool bare = false;        // the tensor is named "layer", not "layer.weight"
  bool batch_axis = false;  // the tensor is [1][rows][features]
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] double products(Shapes) const { return 0; }
  static constexpr std::uint32_t inputs = 1;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};
// Prepends a learned token to the sequence.
struct ClassToken : Plain {
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] ParameterSpecs parameters(Shapes in) const;
};
// The features of one token, as a vector.
struct SelectToken : Plain {
  std::uint32_t token = 0;
  explicit SelectToken(std::uint32_t token_ = 0) : token(token_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
};
// Turns the pixels of a picture into tokens, row by row.
struct Tokens : Plain {
  [[nodiscard]] Shape shape(Shapes in) const { return {1, in[0].height * in[0].width, in[0].channels}; }
};
// Multi-head attention without its projections (Vaswani et al. 2017). The input holds queries, keys and
// values of all heads one after the other, 3 x features per token; the output has `features` per token. For
// each head, with d = features / heads,
//   out = softmax(Q K^T / sqrt(d)) V
// If causal, a token does not attend to later tokens.
struct Attention : Plain {
  std::uint32_t heads = 1;
  bool causal = false;
  explicit Attention(std::uint32_t heads_, bool causal_ = false) : heads(heads_), causal(causal_) {}
  [[nodiscard]] Shape shape(Shapes in) const;
  [[nodiscard]] double products(Shapes in) const;
};

// One row per op: its struct, and its method of Builder (steelyard/model.h). The macro says how to call the
// method:
//   NAMED   the op has parameters, so the layer has a name: method(name, options)
//   BARE    the op has no parameters: method(options...)
//   JOINED  the op has several inputs: see Value and concat() in steelyard/model.h
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

// "conv2d"; for an activation the name of its kind, "relu".
const char* name_of(const OpKind& kind);

}  // namespace steelyard::nn
