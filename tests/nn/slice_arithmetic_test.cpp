#include "nn/optimizer/slice_arithmetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::nn::slice_arithmetic_test {
namespace {

using testing::Each;
using testing::ElementsAre;

TEST(HostArithmetic, VersionsLieAtTheirPlaceInThePool) {
  const auto pool = std::make_shared<FlatPool>(Memory::own);
  HostArithmetic left({0, 3, 0}, pool, 5), right({3, 5, 0}, pool, 5);
  const SliceArithmetic::Room one = left.version_room(7), two = right.version_room(7);
  EXPECT_EQ(one.values.size(), 3U);
  EXPECT_EQ(one.values.data() + 3, two.values.data());
  EXPECT_TRUE(left.needs_rooms());
  EXPECT_EQ(left.frozen(one), nullptr);
}

TEST(HostArithmetic, WithoutAPoolMemoryIsPrivate) {
  HostArithmetic it(3);
  EXPECT_FALSE(it.needs_rooms()) << "a received version can be used as it is";
  EXPECT_EQ(it.version_room(0).values.size(), 3U);
  EXPECT_EQ(it.sum_room().segment, nullptr);
  EXPECT_THAT(it.zeros(6).values, Each(0.0F));
}

TEST(HostArithmetic, ComputesInPlace) {
  HostArithmetic it(3);
  const std::vector<float> x{1, 2, 3}, y{10, 20, 30};
  const SliceArithmetic::Room sum = it.sum_room();
  it.sum(sum.values, it.read({x, nullptr}).values, it.read({y, nullptr}).values);
  it.add(sum.values, x);
  EXPECT_THAT(sum.values, ElementsAre(12, 24, 36));
  it.change(sum.values, true, [](std::span<float> values) { values[0] += 1; });
  std::vector<float> out(3);
  it.copy_out(out, sum.values);
  EXPECT_THAT(out, ElementsAre(13, 24, 36));
  SquareSum squares;
  it.add_squares(x, squares);
  EXPECT_EQ(squares.total(), 14);
  EXPECT_TRUE(it.all_finite({x, nullptr}));
  EXPECT_EQ(it.in_place(sum.values).data(), sum.values.data());
}

TEST(HostArithmetic, ReadsValuesOfADeviceOnTheHost) {
  struct There final : DeviceValues {
    std::vector<float> values{4, 5, 6};
    [[nodiscard]] std::uint64_t size() const override { return 3; }
    [[nodiscard]] OnHost on_host() const override { return {values}; }
  };
  HostArithmetic it(3);
  EXPECT_THAT(it.read({{}, std::make_shared<There>()}).values, ElementsAre(4, 5, 6));
  EXPECT_TRUE(it.all_finite({{}, std::make_shared<There>()}));
}

}  // namespace
}  // namespace steelyard::nn::slice_arithmetic_test
