#include "config/job_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/job_keys.h"

namespace steelyard {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

// Of a section; of [[worker]], what one of them may say.
Json keys_in(const std::string& section) {
  Json schema = Json::parse(job_schema())["properties"][section];
  return section == "worker" ? schema["items"]["properties"] : schema["properties"];
}

TEST(JobSchema, HasEveryKeyWithTypeHelpAndDefault) {
  for (const JobKey& key : job_keys()) {
    const Json it = keys_in(key.section)[key.name];
    ASSERT_FALSE(it.is_null()) << key.section << "." << key.name;
    EXPECT_TRUE(it.contains("type")) << key.name;
    EXPECT_THAT(it["description"].get<std::string>(), HasSubstr(key.help));
  }
  const Json train = keys_in("train");
  EXPECT_EQ(train["batch"]["type"], "integer");
  EXPECT_EQ(train["batch"]["default"], 512);
  EXPECT_EQ(train["batch"]["minimum"], 1);
  EXPECT_EQ(train["lr"]["exclusiveMinimum"], 0) << "above 0";
  EXPECT_EQ(train["momentum"]["exclusiveMaximum"], 1);
  EXPECT_EQ(train["rounds"].count("maximum"), 0U);
  EXPECT_EQ(train["optimizer"]["enum"], (Json{"sgd", "momentum", "nesterov"}));
  EXPECT_EQ(keys_in("cluster")["sync"]["default"], "bsp");
  EXPECT_EQ(keys_in("worker")["slow"]["type"], (Json{"string", "number"})) << "2, or \"2, 6@10\"";
}

TEST(JobSchema, AllowsFurtherKeysWhereThereAreOptions) {
  const Json schema = Json::parse(job_schema());
  EXPECT_EQ(schema["additionalProperties"], false);
  EXPECT_EQ(schema["required"], Json{"worker"});
  for (const char* open : {"model", "data"})
    EXPECT_EQ(schema["properties"][open]["additionalProperties"], true) << open;
  for (const char* closed : {"job", "train", "cluster"})
    EXPECT_EQ(schema["properties"][closed]["additionalProperties"], false) << closed;
  EXPECT_EQ(schema["properties"]["worker"]["minItems"], 1);
}

}  // namespace
}  // namespace steelyard
