#include "nn/layer_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "core/error.h"
#include "core/options.h"

namespace steelyard::nn {
namespace {

constexpr std::uint64_t most = 1 << 24;  // of sizes: shapes have 32 bits

std::uint32_t size_in(const Options& options, const std::string& name) {
  return static_cast<std::uint32_t>(options.whole(name));
}

// Options without a default, which a job must give.
void require(const Options& options, const std::string& name, const std::string& example) {
  if (!options.has(name)) refuse_setup("needs " + name + ": give it, as in " + name + " = " + example);
}

Pair pair_in(const Options& options, const std::string& name) {
  const std::vector<std::uint64_t> both = options.wholes(name);
  if (both.size() > 2)
    refuse_setup(name + " has more than two numbers: give [rows, columns], or one for both");
  return {static_cast<std::uint32_t>(both.front()), static_cast<std::uint32_t>(both.back())};
}

// In the order of Init.
const std::vector<std::string> init_words{"fan_in", "he_fan_in", "he_fan_out", "small", "xavier"};

Init init_in(const Options& options) {
  return static_cast<Init>(std::ranges::find(init_words, options.text("init")) - init_words.begin());
}

std::uint32_t outputs_in(std::uint32_t classes, const Options& options) {
  return options.has("outputs") ? size_in(options, "outputs") : classes;
}

std::vector<Option> linear_options() {
  return {whole_option("outputs", std::nullopt, 1, most,
                       "features of the output (default: the number of classes)"),
          flag_option("bias", true, "whether it adds a learned number to each output"),
          word_option("init", "fan_in", init_words, "how its weights begin")};
}

std::vector<Option> pool_options() {
  return {whole_option("size", 2, 1, most, "rows and columns of a window"),
          whole_option("stride", 0, 0, most, "distance of two windows; 0: the size"),
          whole_option("padding", 0, 0, most, "pixels around the picture, on each side")};
}

Option groups_option(std::uint64_t otherwise, const std::string& help) {
  return whole_option("groups", otherwise, 1, most, help);
}
Option epsilon_option() { return number_option("epsilon", 1e-5, 0, 1, "added to the variance"); }

template <class Pool>
OpKind pool(std::uint32_t, const Options& o) {
  return Pool(size_in(o, "size"), size_in(o, "stride"), size_in(o, "padding"));
}

OpKind conv2d(std::uint32_t, const Options& o) {
  require(o, "channels", "64");
  require(o, "kernel", "3");
  return Conv2d{.channels = size_in(o, "channels"),
                .kernel = pair_in(o, "kernel"),
                .stride = size_in(o, "stride"),
                .padding = pair_in(o, "padding"),
                .groups = size_in(o, "groups"),
                .bias = o.flag("bias"),
                .init = init_in(o)};
}

LayerTable picture_rows() {
  return {{"conv2d",
           conv2d,
           "a convolution",
           {whole_option("channels", std::nullopt, 1, most, "channels of the output"),
            wholes_option("kernel", {}, 1, most, "its size: one number, or [rows, columns]"),
            whole_option("stride", 1, 1, most, "distance of two windows"),
            wholes_option("padding", {0}, 0, most, "zeros on each side: one number, or [rows, columns]"),
            groups_option(1, "groups of channels that do not mix"),
            flag_option("bias", true, "whether it adds a learned number to each channel"),
            word_option("init", "fan_in", init_words, "how its weights begin")}},
          {"max_pool", pool<MaxPool>, "the maximum of each window", pool_options()},
          {"average_pool", pool<AveragePool>, "the mean of each window", pool_options()},
          {"global_average_pool", [](auto, const Options&) { return OpKind(GlobalAveragePool()); },
           "the mean of each channel over all pixels, or of each feature over all tokens"},
          {"channel_shuffle",
           [](auto, const Options& o) { return OpKind(ChannelShuffle(size_in(o, "groups"))); },
           "mixes the groups of channels (ShuffleNet)",
           {groups_option(2, "groups of channels")}},
          {"channel_slice",
           [](auto, const Options& o) {
             require(o, "end", "16");
             return OpKind(ChannelSlice(size_in(o, "begin"), size_in(o, "end")));
           },
           "some of the channels",
           {whole_option("begin", 0, 0, most, "the first channel"),
            whole_option("end", std::nullopt, 1, most, "the channel after the last one")}}};
}

LayerTable plain_rows() {
  LayerTable rows{
      {"linear",
       [](std::uint32_t classes, const Options& o) {
         return OpKind(Linear{outputs_in(classes, o), o.flag("bias"), init_in(o)});
       },
       "a linear layer of all values", linear_options()},
      {"token_linear",
       [](std::uint32_t classes, const Options& o) {
         return OpKind(
             TokenLinear{.outputs = outputs_in(classes, o), .bias = o.flag("bias"), .init = init_in(o)});
       },
       "the same linear layer for each token, or each pixel", linear_options()},
      {"dropout",
       [](auto, const Options& o) { return OpKind(Dropout(o.number("probability"))); },
       "in training, sets a share of the values to zero",
       {number_option("probability", 0.5, 0, below(1), "share of the values")}},
      {"batch_norm",
       [](auto, const Options& o) { return OpKind(BatchNorm(o.number("epsilon"), o.number("keep"))); },
       "normalises each channel over the samples of a grain",
       {epsilon_option(), number_option("keep", 0.9, 0, below(1), "weight of the former running average")}},
      {"layer_norm",
       [](auto, const Options& o) { return OpKind(LayerNorm(o.number("epsilon"))); },
       "normalises the features of each token",
       {epsilon_option()}},
      {"group_norm",
       [](auto, const Options& o) { return OpKind(GroupNorm(size_in(o, "groups"), o.number("epsilon"))); },
       "normalises groups of channels of each sample",
       {groups_option(32, "groups of channels"), epsilon_option()}},
      {"add", [](auto, const Options&) { return OpKind(Add()); }, "the sum of two inputs of the same shape"},
      {"scale", [](auto, const Options&) { return OpKind(Scale()); },
       "multiplies each channel of the first input by a value of the second, a vector"},
      {"concat", [](auto, const Options&) { return OpKind(Concat()); },
       "the channels of two inputs or more"}};
  using Kind = Activation::Kind;
  for (auto kind = static_cast<int>(Kind::relu); kind <= static_cast<int>(Kind::tanh); ++kind) {
    const OpKind op = Activation(static_cast<Kind>(kind));
    rows.push_back({name_of(op), [op](auto, const Options&) { return op; }, "the activation of this name"});
  }
  return rows;
}

LayerTable sequence_rows() {
  return {{"embedding",
           [](auto, const Options& o) {
             require(o, "rows", "1000");
             require(o, "features", "64");
             return OpKind(Embedding{size_in(o, "rows"), size_in(o, "features")});
           },
           "a learned vector for each number of a sequence",
           {whole_option("rows", std::nullopt, 1, most, "number of different tokens"),
            whole_option("features", std::nullopt, 1, most, "length of a vector")}},
          {"position_embedding",
           [](auto, const Options& o) { return OpKind(PositionEmbedding{.rows = size_in(o, "rows")}); },
           "adds a learned vector to each place of a sequence",
           {whole_option("rows", 0, 0, most, "places of the table; 0: the number of tokens")}},
          {"class_token", [](auto, const Options&) { return OpKind(ClassToken()); },
           "puts a learned token before a sequence"},
          {"select_token",
           [](auto, const Options& o) { return OpKind(SelectToken(size_in(o, "token"))); },
           "the features of one token",
           {whole_option("token", 0, 0, most, "its number, from 0")}},
          {"tokens", [](auto, const Options&) { return OpKind(Tokens()); },
           "makes the pixels of a picture a sequence, row by row"},
          {"attention",
           [](auto, const Options& o) { return OpKind(Attention(size_in(o, "heads"), o.flag("causal"))); },
           "attention among the tokens; its input has queries, keys and values: 3 times its features",
           {whole_option("heads", 1, 1, 256, "attention heads"),
            flag_option("causal", false, "whether a token attends only to those before it")}}};
}

// The layers of one model, added one by one.
class LayerReader {
 public:
  explicit LayerReader(Model& model) : model_(model) {}

  void add(const LayerText& layer) {
    const OpKind op = make_choice("layer", layer.kind, layer.options, {}, layer_table(), model_.classes());
    const auto place = static_cast<std::uint32_t>(model_.nodes().size());
    const std::string name = layer.name.empty() ? layer.kind + std::to_string(place) : layer.name;
    if (!nodes_.emplace(name, place).second)
      refuse_setup("two layers are named '" + name + "': give each its own name");
    model_.add(name, op, inputs_of(layer, name, std::visit([](const auto& it) { return it.inputs; }, op)));
  }

 private:
  std::vector<std::uint32_t> inputs_of(const LayerText& layer, const std::string& name,
                                       std::uint32_t wanted) const {
    const std::size_t given = std::max<std::size_t>(1, layer.inputs.size());
    if (wanted == 0 ? given < 2 : given != wanted) {
      refuse_setup("layer '" + name + "' has " + std::to_string(given) + " inputs and takes " +
                   (wanted == 0 ? "two or more" : std::to_string(wanted)) + ": name them, as in inputs = [" +
                   (wanted == 1 ? "" : "\"input\", ") + "\"linear1\"]");
    }
    if (layer.inputs.empty()) return {static_cast<std::uint32_t>(model_.nodes().size() - 1)};
    std::vector<std::uint32_t> nodes;
    for (const std::string& input : layer.inputs) {
      const auto found = nodes_.find(input);
      if (found == nodes_.end() || input == name) {
        std::vector<std::string> known;
        for (const auto& [before, node] : nodes_)
          if (before != name) known.push_back(before);
        refuse_setup("layer '" + name + "' has the input '" + input + "', which is no layer before it" +
                     among(input, known));
      }
      nodes.push_back(found->second);
    }
    return nodes;
  }

  Model& model_;
  std::map<std::string, std::uint32_t> nodes_{{"input", 0}};  // by name
};

}  // namespace

const LayerTable& layer_table() {
  static const LayerTable table = [] {
    LayerTable all;
    for (LayerTable rows : {picture_rows(), plain_rows(), sequence_rows()})
      std::ranges::move(rows, std::back_inserter(all));
    std::ranges::sort(all, {}, [](const auto& row) -> const std::string& { return row.name; });
    return all;
  }();
  return table;
}

void add_layers(Model& model, const std::vector<LayerText>& layers) {
  LayerReader reader(model);
  for (const LayerText& layer : layers) {
    try {
      reader.add(layer);
    } catch (const Failure& failure) {
      throw Failure(failure.code(), (layer.place.empty() ? "" : layer.place + ": ") + failure.what());
    }
  }
}

}  // namespace steelyard::nn
