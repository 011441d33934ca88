#include "app/config/registry.h"

#include <gtest/gtest.h>

#include "tests/support/own_registry.h"

namespace steelyard::registry_test {
namespace {

TEST(Registry, HoldsRegisteredModels) {
  EXPECT_TRUE(registry().models.empty());
  {
    const OwnRegistry own({.models = {{"mine", nullptr, "one of mine"}}});
    ASSERT_EQ(registry().models.size(), 1U);
    EXPECT_EQ(registry().models[0].name, "mine");
  }
  EXPECT_TRUE(registry().models.empty());
}

}  // namespace
}  // namespace steelyard::registry_test
