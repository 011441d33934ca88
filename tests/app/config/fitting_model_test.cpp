#include "app/config/fitting_model.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace steelyard::fitting_model_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Blank : public DataSet {
 public:
  explicit Blank(nn::Shape shape, std::uint32_t labels = 1) : shape_(shape), labels_(labels) {}
  [[nodiscard]] std::uint64_t size() const override { return 1; }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return 10; }
  [[nodiscard]] std::uint32_t labels() const override { return labels_; }
  void read(std::uint64_t, float*, std::uint32_t*) const override {}

 private:
  const nn::Shape shape_;
  const std::uint32_t labels_;
};

std::string refusal(const std::string& model, const DataSet& data, const std::string& name = "csv") {
  Job job;
  if (!model.empty()) job.model = model;
  job.data = name;
  try {
    (void)fitting_model(job, data);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "";
}

TEST(FittingModel, IsTheModelIfItFits) {
  EXPECT_EQ(refusal("", Blank({28, 28, 1})), "");
  EXPECT_EQ(refusal("mlp", Blank({1, 1, 3})), "");
}

TEST(FittingModel, ModelsForPicturesNeedPictures) {
  EXPECT_EQ(refusal("", Blank({1, 1, 3})),
            "model 'lenet5' (the default, if [model] gives no name) needs pictures, for example of 28 x 28; "
            "data set 'csv' has 3 columns: try name = \"mlp\" in [model]");
  for (const char* model : {"cifarnet", "vit", "vit_b16", "inception_v3", "densenet121"}) {
    EXPECT_THAT(refusal(model, Blank({1, 1, 3})),
                AllOf(HasSubstr("needs pictures"), HasSubstr("has 3 columns"), Not(HasSubstr("default"))))
        << model;
  }
  EXPECT_THAT(refusal("inception_v3", Blank({28, 28, 1})),
              AllOf(HasSubstr("has pictures of 28 x 28 x 1"), HasSubstr("or pad = 224 in [data]")));
  EXPECT_THAT(refusal("inception_v3", Blank({28, 28, 1}), "pictures"),
              HasSubstr("or size = [224, 224] and channels = 3 in [data]"));
}

TEST(FittingModel, ALayerOfTheJobFileThatDoesNotFitIsNamed) {
  Job job;
  job.model = "layers";
  job.model_layers = {{"conv2d", "stem", {}, {{"channels", "4"}, {"kernel", "3"}}, "j.toml:3:1"},
                      {"linear", "", {}, {}, "j.toml:7:1"}};
  EXPECT_EQ(fitting_model(job, Blank({28, 28, 1})).nodes()[1].name, "stem");
  try {
    (void)fitting_model(job, Blank({1, 1, 3}));
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("j.toml:3:1: model layer 'stem' gets 1 x 1 x 3 and"));
  }
}

TEST(FittingModel, ModelsForTextsNeedTexts) {
  for (const char* model : {"gpt", "gpt2", "albert", "transformer"})
    EXPECT_THAT(refusal(model, Blank({1, 1, 3})), HasSubstr("needs texts (data set 'bytes')")) << model;
}

TEST(FittingModel, OtherErrorsStay) {
  EXPECT_THAT(refusal("lenet", Blank({1, 1, 3})), HasSubstr("there is no model 'lenet'"));
}

}  // namespace
}  // namespace steelyard::fitting_model_test
