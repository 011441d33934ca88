// Models that the job file describes: [model] hidden, and [[model.layer]].
#include <gmock/gmock.h>

#include "app/config/job_file.h"
#include "app/config/prepare_job.h"
#include "core/error.h"

namespace steelyard::job_layers_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

const std::string one_worker = "[[worker]]\n";

JobFile read(const std::string& text, const std::vector<std::string>& set = {}) {
  return parse_job(text + one_worker, "j.toml", set);
}
std::string refusal(const std::string& text, const std::vector<std::string>& set = {}) {
  try {
    read(text, set);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "";
}

std::vector<std::string> tensors_of(const JobFile& file) {
  std::vector<std::string> names;
  const nn::Model model = model_of(file.job, {8, 8, 1}, 4);
  for (const nn::Tensor& tensor : model.tensors()) {
    names.push_back(tensor.spec.name + " " + std::to_string(tensor.size));
  }
  return names;
}

TEST(JobLayers, HiddenLayersOfAPerceptron) {
  const auto wanted = ElementsAre("fc1.weight 2048", "fc1.bias 32", "fc2.weight 512", "fc2.bias 16",
                                  "fc3.weight 64", "fc3.bias 4");
  const JobFile file = read("[model]\nname = \"mlp\"\nhidden = [32, 16]\n");
  EXPECT_THAT(tensors_of(file), wanted);
  EXPECT_THAT(tensors_of(parse_job(file.resolved, "again")), wanted) << file.resolved;
  EXPECT_EQ(parse_job(file.resolved, "again").resolved, file.resolved);
  EXPECT_THAT(tensors_of(read("[model]\nname = \"mlp\"\n", {"model.hidden=[32, 16]"})), wanted);
  EXPECT_THAT(tensors_of(read("[model]\nname = \"mlp\"\nhidden = 3\n")),
              ElementsAre("fc1.weight 192", "fc1.bias 3", "fc2.weight 12", "fc2.bias 4"));
}

TEST(JobLayers, OptionsThatAModelDoesNotHave) {
  EXPECT_EQ(refusal("[model]\nname = \"mlp\"\nlayers = [32, 16]\n"),
            "j.toml:3:10: model 'mlp' has no option 'layers' (valid: hidden, dropout, loss)");
  EXPECT_THAT(
      refusal("[model]\nname = \"mlp\"\nhidden = [32, 0]\n"),
      HasSubstr("j.toml:3:10: model 'mlp', option hidden = '[\"32\",\"0\"]': give a list of whole numbers"));
  EXPECT_THAT(refusal("[model]\nname = \"mlp\"\n", {"model.hidden=x"}),
              HasSubstr("--set model.hidden=x: model 'mlp', option hidden"));
}

const std::string chain =
    "[model]\nname = \"layers\"\n"
    "[[model.layer]]\nkind = \"conv2d\"\nchannels = 6\nkernel = [3, 1]\n"
    "[[model.layer]]\nkind = \"relu\"\nname = \"act\"\n"
    "[[model.layer]]\nkind = \"add\"\ninputs = [\"act\", \"conv2d1\"]\n"
    "[[model.layer]]\nkind = \"linear\"\n";

TEST(JobLayers, AChainWithABranch) {
  const JobFile file = read(chain);
  ASSERT_EQ(file.job.model_layers.size(), 4U);
  EXPECT_EQ(file.job.model_layers[0].kind, "conv2d");
  EXPECT_EQ(file.job.model_layers[0].place, "j.toml:4:8");
  EXPECT_THAT(file.job.model_layers[0].options,
              ElementsAre(Pair("channels", "6"), Pair("kernel", "[\"3\",\"1\"]")));
  EXPECT_THAT(file.job.model_layers[2].inputs, ElementsAre("act", "conv2d1"));
  EXPECT_THAT(tensors_of(file),
              ElementsAre("conv2d1.weight 18", "conv2d1.bias 6", "linear4.weight 1152", "linear4.bias 4"));
}

TEST(JobLayers, TheResolvedJobIsTheSame) {
  const JobFile file = read(chain), again = parse_job(file.resolved, "again");
  EXPECT_EQ(again.resolved, file.resolved);
  EXPECT_EQ(tensors_of(again), tensors_of(file));
  EXPECT_EQ(fingerprint(again.job), fingerprint(file.job)) << "places in files are not part of the job";
}

TEST(JobLayers, TheNameMayBeLeftOut) {
  EXPECT_EQ(read("[[model.layer]]\nkind = \"linear\"\n").job.model, "layers");
  EXPECT_EQ(read("[model]\nlayer = [{kind = \"tanh\"}, {kind = \"linear\"}]\n").job.model_layers.size(), 2U);
  EXPECT_EQ(read("", {R"(model.layer=[{kind = "linear"}])"}).job.model_layers.size(), 1U);
}

TEST(JobLayers, EachErrorNamesItsPlaceAndRemedy) {
  EXPECT_THAT(refusal("[[model.layer]]\nunits = 3\n"),
              AllOf(HasSubstr("j.toml:1:1: [[model.layer]] has no kind"), HasSubstr("kind = \"linear\"")));
  EXPECT_THAT(refusal("[[model.layer]]\nkind = \"lineer\"\n"),
              HasSubstr("j.toml:2:8: unknown layer 'lineer'; did you mean \"linear\"?"));
  EXPECT_THAT(refusal("[[model.layer]]\nkind = \"linear\"\nunits = 3\n"),
              HasSubstr("j.toml:3:9: layer 'linear' has no option 'units' (valid: outputs, bias, init)"));
  EXPECT_THAT(
      refusal("[[model.layer]]\nkind = \"dropout\"\nprobability = 2\n"),
      HasSubstr("j.toml:3:15: layer 'dropout', option probability = '2': give a number of at least 0"));
  EXPECT_THAT(refusal("[[model.layer]]\nkind = \"add\"\ninputs = \"a\"\n"),
              HasSubstr("j.toml:3:10: inputs ="));
  EXPECT_THAT(refusal("[model]\nname = \"mlp\"\n[[model.layer]]\nkind = \"relu\"\n"),
              HasSubstr("j.toml:2:8: model \"mlp\" has layers of its own"));
  EXPECT_THAT(refusal("[model]\nname = \"layers\"\n"),
              AllOf(HasSubstr("j.toml:2:8: model \"layers\" has no layer"), HasSubstr("[[model.layer]]")));
  EXPECT_THAT(refusal("[model.layer]\nkind = \"relu\"\n"), HasSubstr("write [[model.layer]]"));
  EXPECT_THAT(refusal("", {R"(model.layer=[{kind = "lineer"}])"}),
              HasSubstr("--set model.layer=[{kind = \"lineer\"}]: unknown layer 'lineer'"));
}

TEST(JobLayers, LayersThatDoNotFitNameTheirPlace) {
  const JobFile file = read(chain);
  try {
    (void)model_of(file.job, {2, 2, 1}, 4);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("j.toml:4:8: model layer 'conv2d1' gets 2 x 2 x 1 and"));
  }
}

}  // namespace
}  // namespace steelyard::job_layers_test
