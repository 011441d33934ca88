#include "nn/layer_table.h"

#include <gmock/gmock.h>

#include <set>

#include "nn/models.h"
#include "nn/network.h"

namespace steelyard::nn::layer_table_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Model made(const std::vector<LayerText>& layers, Shape input = {8, 8, 3}, const OptionTexts& options = {}) {
  return make_model(model_of_layers, {input, 4, options, layers});
}

std::string trouble(const std::vector<LayerText>& layers, Shape input = {8, 8, 3}) {
  try {
    (void)made(layers, input);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "no trouble";
}

LayerText layer(const std::string& kind, const OptionTexts& options = {},
                const std::vector<std::string>& inputs = {}, const std::string& name = {}) {
  return {kind, name, inputs, options, "j.toml:7:1"};
}

// Names, shapes and values: what decides about results.
std::vector<std::string> tensors_of(const Model& model) {
  std::vector<std::string> all;
  for (const Tensor& tensor : model.tensors()) {
    all.push_back(tensor.spec.name);
    for (const std::uint64_t extent : tensor.spec.shape) all.back() += " " + std::to_string(extent);
  }
  return all;
}

TEST(LayerTable, AChainIsTheModelThatCodeMakes) {
  const Model chain =
      made({layer("conv2d", {{"channels", "6"}, {"kernel", "3"}, {"padding", "[1, 0]"}}), layer("relu"),
            layer("max_pool", {{"size", "2"}}), layer("linear", {{"outputs", "5"}}, {}, "hidden"),
            layer("tanh"), layer("linear")});
  Model code({8, 8, 3}, 4);
  code.conv2d("conv2d1", {.channels = 6, .kernel = 3, .padding = {1, 0}}).relu().max_pool(2);
  code.linear("hidden", 5).tanh().linear("linear6", 4);
  EXPECT_EQ(tensors_of(chain), tensors_of(code));
  ASSERT_EQ(chain.nodes().size(), code.nodes().size());
  for (std::size_t i = 0; i < code.nodes().size(); ++i) {
    EXPECT_EQ(chain.nodes()[i].kind.index(), code.nodes()[i].kind.index()) << i;
    EXPECT_EQ(chain.nodes()[i].shape, code.nodes()[i].shape) << i;
  }
}

TEST(LayerTable, InputsMakeBranches) {
  const Model model = made({layer("conv2d", {{"channels", "3"}, {"kernel", "3"}, {"padding", "1"}}, {}, "a"),
                            layer("add", {}, {"a", "input"}, "sum"),
                            layer("concat", {}, {"sum", "a", "input"}), layer("linear")});
  EXPECT_EQ(model.nodes()[2].inputs, (std::vector<std::uint32_t>{1, 0}));
  EXPECT_EQ(model.nodes()[3].shape, (Shape{8, 8, 9}));
}

// Every op of steelyard/layers.h has a row, and the row makes that op.
TEST(LayerTable, HasEveryOp) {
  const OptionTexts required{
      {"channels", "4"}, {"kernel", "1"}, {"rows", "5"}, {"features", "2"}, {"end", "2"}};
  std::set<std::size_t> kinds;
  for (const auto& row : layer_table()) {
    OptionTexts given;
    for (const Option& option : row.options)
      if (option.otherwise.empty() && required.contains(option.name))
        given[option.name] = required.at(option.name);
    const OpKind op = row.make(4, Options(row.name, row.options, given));
    EXPECT_EQ(name_of(op), row.name);
    kinds.insert(op.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<OpKind>);
}

TEST(LayerTable, ModelsOfLayersHaveALoss) {
  const std::vector<LayerText> layers{layer("linear")};
  EXPECT_EQ(made(layers, {1, 1, 3}, {{"loss", "hinge"}}).loss(), Loss::hinge);
  EXPECT_EQ(made(layers, {1, 1, 3}, {{"smoothing", "0.1"}}).smoothing(), 0.1);
}

TEST(LayerTable, ErrorsNameThePlaceAndTheRemedy) {
  EXPECT_THAT(trouble({layer("con2d")}),
              StartsWith("j.toml:7:1: there is no layer 'con2d'; did you mean \"conv2d\"?"));
  EXPECT_THAT(trouble({layer("linear", {{"output", "3"}})}),
              AllOf(StartsWith("j.toml:7:1: layer 'linear' has no option 'output'"), HasSubstr("outputs")));
  EXPECT_THAT(trouble({layer("conv2d", {{"channels", "3"}})}),
              AllOf(StartsWith("j.toml:7:1: "), HasSubstr("needs kernel"), HasSubstr("kernel = 3")));
  EXPECT_THAT(trouble({layer("conv2d", {{"channels", "3"}, {"kernel", "[1, 2, 3]"}})}),
              HasSubstr("kernel has more than two numbers: give [rows, columns]"));
  EXPECT_THAT(trouble({layer("conv2d", {{"channels", "3"}, {"kernel", "9"}}), layer("linear")}),
              StartsWith("j.toml:7:1: model layer 'conv2d1' gets 8 x 8 x 3 and"));
  EXPECT_THAT(trouble({layer("relu", {}, {"conv"})}),
              HasSubstr("the input 'conv', which is no layer before it"));
  EXPECT_THAT(trouble({layer("relu", {}, {"me"}, "me")}), HasSubstr("which is no layer before it"));
  EXPECT_THAT(trouble({layer("add"), layer("linear")}),
              HasSubstr("layer 'add1' has 1 inputs and takes 2: name them, as in inputs = ["));
  EXPECT_THAT(trouble({layer("relu", {}, {}, "a"), layer("tanh", {}, {}, "a")}),
              HasSubstr("two layers are named 'a': give each its own name"));
  EXPECT_THAT(trouble({layer("linear", {{"outputs", "3"}})}), HasSubstr("but there are 4 classes"));
  EXPECT_THAT(trouble({}), HasSubstr("the model has no parameters"));
}

TEST(LayerTable, OtherModelsTakeNoLayers) {
  try {
    (void)make_model("mlp", {{8, 8, 1}, 4, {}, {layer("linear")}});
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(),
                AllOf(HasSubstr("model 'mlp' has layers of its own"), HasSubstr("\"layers\"")));
  }
}

}  // namespace
}  // namespace steelyard::nn::layer_table_test
