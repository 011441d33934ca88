#include "worker/version_buffer.h"

#include <gtest/gtest.h>

namespace steelyard {
namespace {

Parameters slice_of(std::uint32_t slice, std::size_t floats, Version version, float value) {
  return {1, version, slice, Blob::copy_of(std::vector<float>(floats, value)), 0, 10 + slice};
}

TEST(VersionBuffer, IsWholeOnceEverySliceHasArrivedOnce) {
  Layout layout;
  append(layout, "w", {10});
  layout.slice_size = 4;  // 4, 4, 2
  const std::vector<Slice> all = slices(layout);
  VersionBuffer buffer;
  buffer.begin(7, std::make_shared<FloatBuffer>(10), all.size());
  EXPECT_TRUE(buffer.take(slice_of(1, 4, 9, 1.0F), all));
  EXPECT_FALSE(buffer.take(slice_of(1, 4, 9, 2.0F), all)) << "it is here already";
  EXPECT_FALSE(buffer.take(slice_of(3, 4, 9, 2.0F), all)) << "there is no such slice";
  EXPECT_FALSE(buffer.take(slice_of(2, 4, 9, 2.0F), all)) << "it has not this size";
  EXPECT_FALSE(buffer.whole({{}, "", 0, 2}));
  EXPECT_TRUE(buffer.whole({{}, "", 1, 2}));
  EXPECT_TRUE(buffer.whole({{}, "", 2, 2})) << "nothing is all of nothing";
  EXPECT_TRUE(buffer.take(slice_of(0, 4, 8, 3.0F), all));
  EXPECT_TRUE(buffer.take(slice_of(2, 2, 8, 4.0F), all));
  EXPECT_EQ(buffer.missing, 0U);
  EXPECT_EQ(buffer.lowest, 8U);
  EXPECT_EQ(buffer.steps, (std::vector<std::uint64_t>{10, 11, 12}));
  EXPECT_EQ(std::vector<float>(buffer.values->span().begin(), buffer.values->span().end()),
            (std::vector<float>{3, 3, 3, 3, 1, 1, 1, 1, 4, 4}));
}

}  // namespace
}  // namespace steelyard
