#include "nn/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/nn/published_models.h"

namespace steelyard::nn::models_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const ModelOptions mnist{{28, 28, 1}, 10, {}};

std::string trouble(const std::string& name, const ModelOptions& options, const ModelTable& extra = {}) {
  try {
    (void)make_model(name, options, extra);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "no trouble";
}

const bool published = publish({{"softmax", {28, 28, 1}, 10, 7'850},
                                {"svm", {28, 28, 1}, 10, 7'850},
                                {"mlp", {28, 28, 1}, 10, 535'818},
                                {"lenet5", {28, 28, 1}, 10, 61'706},
                                {"cifarnet", {32, 32, 3}, 10, 1'756'426},
                                {"resnet20", {32, 32, 3}, 10, 272'474},
                                {"resnet32", {32, 32, 3}, 10, 466'906},
                                {"resnet18", {32, 32, 3}, 10, 11'173'962},
                                {"resnet101", {224, 224, 3}, 1000, 44'549'160},
                                {"densenet121", {224, 224, 3}, 1000, 7'978'856},
                                {"shufflenet_v2", {224, 224, 3}, 1000, 2'278'604},
                                {"efficientnet_b0", {224, 224, 3}, 1000, 5'288'548},
                                {"efficientnet_b1", {240, 240, 3}, 1000, 7'794'184},
                                {"inception_v3", {299, 299, 3}, 1000, 23'834'568},
                                {"vit", {32, 32, 3}, 10, 9'532'938},
                                {"vit_b16", {224, 224, 3}, 1000, 86'567'656},
                                {"transformer", {1, 64, 1}, 10, 3'433'994},
                                {"albert", {1, 128, 1}, 2, 11'685'122},
                                {"gpt", {1, 256, 1}, 256, 10'942'464},
                                {"gpt2", {1, 256, 1}, 50257, 124'439'808}});

TEST(Models, HaveThePublishedSizes) {
  for (const Published& row : published_models()) {
    const Model model = make_model(row.name, {row.input, row.classes, {}});
    std::uint64_t learned = 0;
    for (const Range& range : model.layout().ranges) {
      learned += range.rule == Rule::step ? range.end - range.begin : 0;
    }
    EXPECT_EQ(learned, row.parameters) << row.name;
    EXPECT_GT(model.flops_per_sample(), 0) << row.name;
  }
}

TEST(Models, EachHasAPublishedSize) {
  std::vector<std::string> names, known{model_of_layers};  // the layers of a job file have any size
  for (const auto& row : built_in_models()) names.push_back(row.name);
  for (const Published& row : published_models()) known.emplace_back(row.name);
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(known));
}

TEST(Models, BatchNormModelsHaveGrains) {
  EXPECT_EQ(make_model("resnet20", {{32, 32, 3}, 10, {}}).grain(), 32U);
  EXPECT_EQ(make_model("lenet5", mnist).grain(), 1U);
  EXPECT_EQ(make_model("gpt", {{1, 16, 1}, 256, {}}).labels(), 16U);
  EXPECT_EQ(make_model("lenet5", mnist).labels(), 1U);
}

// Batch norm is over a micro-batch, so the grain is its size; a share of any size is one.
TEST(Models, TheGrainFollowsTheMicroBatch) {
  Model model = make_model("resnet20", {{32, 32, 3}, 10, {}});
  EXPECT_EQ(model.compute_at_once(4).grain(), 4U);
  EXPECT_EQ(model.normalize_shares(167).grain(), 1U);
  EXPECT_EQ(model.micro_batch(), 167U);
}

TEST(Models, SvmHasTheHingeLoss) {
  EXPECT_EQ(make_model("svm", mnist).loss(), Loss::hinge);
  EXPECT_EQ(make_model("softmax", mnist).loss(), Loss::softmax_cross_entropy);
}

TEST(Models, AcceptOptions) {
  ModelOptions options = mnist;
  options.values["dropout"] = "0.25";
  std::size_t dropouts = 0;
  const Model model = make_model("mlp", options);
  for (const Node& node : model.nodes()) {
    const auto* dropout = std::get_if<Dropout>(&node.kind);
    if (dropout == nullptr) continue;
    EXPECT_EQ(dropout->probability, 0.25);
    ++dropouts;
  }
  EXPECT_EQ(dropouts, 2U);
  EXPECT_EQ(make_model("mlp", mnist).nodes().size() + 2, model.nodes().size());
}

TEST(Models, APerceptronHasAnyHiddenLayers) {
  const auto tensors = [](const std::string& hidden) {
    ModelOptions options = mnist;
    options.values["hidden"] = hidden;
    const Model model = make_model("mlp", options);
    std::vector<std::vector<std::uint64_t>> shapes;
    for (const Tensor& tensor : model.tensors()) shapes.push_back(tensor.spec.shape);
    return shapes;
  };
  using Shapes = std::vector<std::vector<std::uint64_t>>;
  EXPECT_EQ(tensors("[32, 16]"), (Shapes{{32, 784}, {32}, {16, 32}, {16}, {10, 16}, {10}}));
  EXPECT_EQ(tensors("[\"32\",\"16\"]"), tensors("[32, 16]")) << "as a job file holds it";
  EXPECT_EQ(tensors("7"), (Shapes{{7, 784}, {7}, {10, 7}, {10}}));
  ModelOptions options = mnist;
  for (const char* bad : {"[]", "[32, 0]", "[32, x]", "[1.5]", ""}) {
    options.values["hidden"] = bad;
    EXPECT_THAT(trouble("mlp", options),
                HasSubstr("option hidden = '" + std::string(bad) + "': give a list of whole numbers from 1"));
  }
}

TEST(Models, RefuseUnknownNamesAndOptions) {
  EXPECT_THAT(trouble("lenet6", mnist),
              AllOf(HasSubstr("'lenet6'"), HasSubstr(joined(names_of({}, built_in_models())))));
  ModelOptions options = mnist;
  options.values["drop_out"] = "0.25";
  EXPECT_THAT(trouble("mlp", options),
              AllOf(HasSubstr("'mlp'"), HasSubstr("'drop_out'"), HasSubstr("dropout")));
  EXPECT_THAT(trouble("svm", options), HasSubstr("it has no options"));
}

TEST(Models, CanBeAddedByUsers) {
  const ModelTable mine{
      {"tiny", [](Shape s, auto c, const Options&) { return Model(s, c).linear("fc", c); }},
      {"mlp", [](Shape s, auto c, const Options&) { return Model(s, c).linear("mine", c); }}};
  EXPECT_EQ(make_model("tiny", mnist, mine).parameters(), 7850U);
  EXPECT_EQ(make_model("mlp", mnist, mine).nodes()[1].name, "mine")
      << "a user's model replaces a built-in one";
  EXPECT_EQ(make_model("softmax", mnist, mine).parameters(), 7850U);
  EXPECT_THAT(trouble("tony", mnist, mine), HasSubstr("tiny"));
}

}  // namespace
}  // namespace steelyard::nn::models_test
