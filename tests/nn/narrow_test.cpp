#include <gtest/gtest.h>

#include "nn/models.h"

namespace steelyard::nn::narrow_test {
namespace {

TEST(Narrow, HasTwoLayers) {
  const Model model = make_model("narrow", {{4, 4, 1}, 3, {{"width", 8}}});
  EXPECT_EQ(model.layout().size(), 16U * 8 + 8 + 8 * 3 + 3);
}

}  // namespace
}  // namespace steelyard::nn::narrow_test
