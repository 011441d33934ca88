#include "protocol/sliced_values.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::sliced_values_test {
namespace {

using ::testing::ElementsAre;

TEST(SlicedValues, AreOneFlatCopyOnTheHost) {
  const auto values = std::make_shared<SlicedValues>(
      SlicedValues::Parts{{{2, 3, 0}, Blob::copy_of(std::vector<float>{3})},
                          {{0, 2, 0}, Blob::copy_of(std::vector<float>{1, 2})}},
      3);
  EXPECT_EQ(values->size(), 3U);
  EXPECT_THAT(values->on_host().values, ElementsAre(1, 2, 3));
  EXPECT_EQ(values->on_host().values.data(), values->on_host().values.data()) << "made once";
  EXPECT_EQ(values->on_host().segment, nullptr);
}

// A blob of such values is like any other, and copies them only when its bytes are read.
TEST(SlicedValues, ABlobHoldsThem) {
  struct Counted final : DeviceValues {
    mutable int copies = 0;
    std::vector<float> values{5, 6};
    [[nodiscard]] std::uint64_t size() const override { return 2; }
    [[nodiscard]] OnHost on_host() const override {
      ++copies;
      return {values};
    }
  };
  const auto counted = std::make_shared<Counted>();
  const Blob blob(counted);
  EXPECT_EQ(blob.size(), 8U);
  EXPECT_FALSE(blob.empty());
  EXPECT_TRUE(blob.holds_floats(2));
  EXPECT_FALSE(blob.holds_floats(3));
  EXPECT_TRUE(blob.floats_to_write_over().empty());
  EXPECT_EQ(blob.device(), counted);
  EXPECT_EQ(counted->copies, 0);
  EXPECT_THAT(blob.floats(), ElementsAre(5, 6));
  EXPECT_EQ(blob.bytes().size(), 8U);
  EXPECT_EQ(Blob().device(), nullptr);
  EXPECT_TRUE(Blob().empty());
}

}  // namespace
}  // namespace steelyard::sliced_values_test
