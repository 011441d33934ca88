#include <gtest/gtest.h>

#include <vector>

#include "worker/data/data_sets.h"

namespace steelyard::stripes_test {
namespace {

TEST(Stripes, RunAlongOrAcross) {
  const DataSets sets = open_data("stripes", {{"samples", "10"}});
  EXPECT_EQ(sets.train->size(), 10U);
  std::vector<float> along(64), across(64);
  std::uint32_t label = 7;
  sets.train->read(0, along.data(), &label);
  EXPECT_EQ(label, 0U);
  sets.train->read(1, across.data(), &label);
  EXPECT_EQ(label, 1U);
  EXPECT_EQ(along[8], across[1]);
  EXPECT_NE(along[0], along[1]);
}

}  // namespace
}  // namespace steelyard::stripes_test
