#include "nn/models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace steelyard::nn {
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

TEST(Models, HaveThePublishedSizes) {
  EXPECT_EQ(make_model("softmax", mnist).parameters(), 7850U);
  EXPECT_EQ(make_model("svm", mnist).parameters(), 7850U);
  EXPECT_EQ(make_model("mlp", mnist).parameters(), 535818U);
  EXPECT_EQ(make_model("lenet5", mnist).parameters(), 61706U);
}

TEST(Models, AreComplete) {
  for (const auto& row : built_in_models()) EXPECT_NO_THROW((void)make_model(row.name, mnist)) << row.name;
}

TEST(Models, SvmHasTheHingeLoss) {
  EXPECT_EQ(make_model("svm", mnist).loss(), Loss::hinge);
  EXPECT_EQ(make_model("softmax", mnist).loss(), Loss::softmax_cross_entropy);
}

TEST(Models, TakeOptions) {
  ModelOptions options = mnist;
  options.values["dropout"] = 0.25;
  std::size_t dropouts = 0;
  const Model model = make_model("mlp", options);
  for (const Layer& layer : model.layers()) {
    const auto* dropout = std::get_if<Dropout>(&layer.kind);
    if (dropout == nullptr) continue;
    EXPECT_EQ(dropout->probability, 0.25);
    ++dropouts;
  }
  EXPECT_EQ(dropouts, 2U);
  EXPECT_EQ(make_model("mlp", mnist).layers().size() + 2, model.layers().size());
}

TEST(Models, RefuseUnknownNamesAndOptions) {
  EXPECT_THAT(trouble("lenet6", mnist), AllOf(HasSubstr("'lenet6'"), HasSubstr("lenet5, mlp, softmax, svm")));
  ModelOptions options = mnist;
  options.values["drop_out"] = 0.25;
  EXPECT_THAT(trouble("mlp", options),
              AllOf(HasSubstr("'mlp'"), HasSubstr("'drop_out'"), HasSubstr("dropout")));
  EXPECT_THAT(trouble("svm", options), HasSubstr("it has none"));
}

TEST(Models, CanBeAddedByUsers) {
  const ModelTable mine{
      {"tiny", [](Shape s, auto c, const Options&) { return Model(s, c).linear("fc", c); }},
      {"mlp", [](Shape s, auto c, const Options&) { return Model(s, c).linear("mine", c); }}};
  EXPECT_EQ(make_model("tiny", mnist, mine).parameters(), 7850U);
  EXPECT_EQ(make_model("mlp", mnist, mine).layers()[0].name, "mine") << "a user's model hides a built-in one";
  EXPECT_EQ(make_model("softmax", mnist, mine).parameters(), 7850U);
  EXPECT_THAT(trouble("tony", mnist, mine), HasSubstr("tiny"));
}

}  // namespace
}  // namespace steelyard::nn
