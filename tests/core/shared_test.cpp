#include "core/buffer.h"

#include <gtest/gtest.h>

#include <string>

namespace steelyard::shared_test {
namespace {

TEST(Shared, CopiesShareOneValue) {
  const Shared<std::string> one = std::string("a text");
  const Shared<std::string> copy = one;  // NOLINT(performance-unnecessary-copy-initialization)
  const std::string& text = copy;
  EXPECT_EQ(text, "a text");
  EXPECT_EQ(copy->size(), 6U);
  EXPECT_EQ(&*copy, &*one) << "a copy is a pointer";
}

TEST(Shared, StartsWithADefaultValue) {
  const Shared<std::string> none;
  EXPECT_EQ(*none, "");
}

}  // namespace
}  // namespace steelyard::shared_test
