
#include <gmock/gmock.h>

#include "app/cli/command_line.h"
#include "balancing/predict/predictors.h"
#include "nn/models.h"
#include "protocol/sync_mode.h"
#include "sim/simulation.h"
#include "tests/support/own_registry.h"
#include "worker/data/data_sets.h"

namespace steelyard::help_test {
namespace {

using ::testing::HasSubstr;

std::string topic_text(const std::string& topic) { return describe(topic).value_or("no such topic"); }

TEST(Help, ListsAllPoliciesModelsDataSetsAndModes) {
  for (const std::string& name : sim::simulated_policies())
    EXPECT_THAT(topic_text("policy"), HasSubstr("\n  " + name + " ")) << name;
  for (const std::string& name : balancing::predictor_names())
    EXPECT_THAT(topic_text("policy"), HasSubstr("\n  " + name + " ")) << name;
  for (const auto& row : nn::built_in_models())
    EXPECT_THAT(topic_text("model"), HasSubstr("\n  " + row.name + " "));
  for (const auto& row : built_in_data_sets())
    EXPECT_THAT(topic_text("data"), HasSubstr("\n  " + row.name + " "));
  for (const SyncForm& form : sync_forms()) EXPECT_THAT(topic_text("sync"), HasSubstr(form.meaning));
}

TEST(Help, ShowsOptionsWithDefaultRangeAndMeaning) {
  EXPECT_THAT(topic_text("policy"),
              HasSubstr("    dead_band = 0.03        relative spread of predicted times"));
  EXPECT_THAT(topic_text("policy"), HasSubstr("a number of at least 0 and below 1\n"));
  EXPECT_THAT(topic_text("policy"), HasSubstr("one of last, ema, arima, rnn, narx\n"));
}

TEST(Help, ListsModelsThatAProgramAdds) {
  const auto make = [](nn::Shape shape, std::uint32_t classes, const Options&) {
    return nn::Model(shape, classes);
  };
  const OwnRegistry own(
      {.models = {{"mine", make, "one of mine", {whole_option("width", 32, 1, 64, "units")}}}});
  EXPECT_THAT(topic_text("model"), HasSubstr("  mine           one of mine\n    width = 32"));
  EXPECT_THAT(topic_text("model"), HasSubstr("\n  lenet5 "));
}

TEST(Help, HasASchemaForEachKindOfFile) {
  EXPECT_THAT(topic_text("schema"), HasSubstr("\"title\": \"a job of steelyard\""));
  EXPECT_THAT(topic_text("schema-scenario"), HasSubstr("\"title\": \"a scenario of steelyard\""));
  EXPECT_THAT(topic_text("schema-hosts"), HasSubstr("\"title\": \"the hosts of steelyard launch\""));
}

TEST(Help, HasATextForEachTopicAndNoOther) {
  for (const std::string& topic : help_topics()) EXPECT_NE(topic_text(topic), "no such topic") << topic;
  EXPECT_FALSE(describe("weather"));
}

}  // namespace
}  // namespace steelyard::help_test
