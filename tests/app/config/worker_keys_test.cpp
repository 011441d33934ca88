#include "app/config/worker_keys.h"

#include <gmock/gmock.h>

#include <set>

namespace steelyard::worker_keys_test {
namespace {

TEST(WorkerKeys, EachKeyListsWhereItCanBeGiven) {
  WorkerSpec spec;
  std::set<std::string> in_descriptions, of_scripts;
  for (const Key& key : worker_keys(spec)) {
    if (key.elsewhere.description) in_descriptions.insert(key.name);
    if (key.elsewhere.of_scripts || key.elsewhere.environment) of_scripts.insert(variable_name(key.name));
  }
  EXPECT_THAT(in_descriptions, testing::ElementsAre("name", "simulate_slowdown"));
  EXPECT_THAT(of_scripts,
              testing::ElementsAre("STEELYARD_DEVICE", "STEELYARD_NAME", "STEELYARD_SIMULATE_SLOWDOWN"));
}

TEST(WorkerKeys, TextsSetTheFieldsOfTheSpec) {
  WorkerSpec spec;
  for (const Key& key : worker_keys(spec)) {
    if (key.name == "max_batch") {
      EXPECT_TRUE(take_text(key, "64"));
      EXPECT_FALSE(take_text(key, "-1"));
      EXPECT_FALSE(take_text(key, "64 samples"));
    }
    if (key.name == "background") {
      EXPECT_TRUE(take_text(key, "true"));
    }
    if (key.name == "simulate_slowdown") {
      EXPECT_FALSE(take_text(key, "0.5"));
    }
  }
  EXPECT_EQ(spec.max_batch, 64U);
  EXPECT_TRUE(spec.background);
}

}  // namespace
}  // namespace steelyard::worker_keys_test
