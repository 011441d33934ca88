#include "worker/version_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

namespace steelyard::version_buffer_test {
namespace {

using ::testing::ElementsAre;

class VersionBufferTest : public ::testing::Test {
 protected:
  static std::vector<Slice> made() {
    Layout layout;
    append(layout, "w", {10});
    layout.slice_size = 4;  // 4, 4, 2
    return slices(layout);
  }
  static Parameters answer(std::uint32_t slice, Version version, Blob values) {
    return {1, version, slice, std::move(values), 0, 10 + slice};
  }
  static Parameters slice_of(std::uint32_t slice, std::size_t floats, Version version, float value) {
    return answer(slice, version, Blob::copy_of(std::vector<float>(floats, value)));
  }
  bool take(const Parameters& parameters) { return buffer.take(parameters, all, pool); }
  // A slice as a view of a whole version elsewhere.
  Parameters lying_in(const std::shared_ptr<FloatBuffer>& whole, std::uint32_t slice) {
    return answer(slice, 7,
                  Blob::of_floats(whole, whole->span().subspan(all[slice].begin, all[slice].size())));
  }
  static std::shared_ptr<FloatBuffer> counting(float from) {
    auto whole = std::make_shared<FloatBuffer>(10);
    std::iota(whole->span().begin(), whole->span().end(), from);
    return whole;
  }
  [[nodiscard]] std::vector<float> values() const {
    const Blob whole = buffer.values(all);
    return {whole.floats().begin(), whole.floats().end()};
  }

  const std::vector<Slice> all = made();
  BufferPool pool{10};
  VersionBuffer buffer;
};

TEST_F(VersionBufferTest, IsWholeOnceEverySliceHasArrivedOnce) {
  buffer.begin(7, all.size());
  EXPECT_TRUE(take(slice_of(1, 4, 9, 1.0F)));
  EXPECT_FALSE(take(slice_of(1, 4, 9, 2.0F))) << "it has arrived already";
  EXPECT_FALSE(take(slice_of(3, 4, 9, 2.0F))) << "there is no such slice";
  EXPECT_FALSE(take(slice_of(2, 4, 9, 2.0F))) << "it has another size";
  EXPECT_FALSE(buffer.whole({{}, "", 0, 2}));
  EXPECT_TRUE(buffer.whole({{}, "", 1, 2}));
  EXPECT_TRUE(buffer.whole({{}, "", 2, 2})) << "an empty range is complete";
  EXPECT_TRUE(take(slice_of(0, 4, 8, 3.0F)));
  EXPECT_TRUE(take(slice_of(2, 2, 8, 4.0F)));
  EXPECT_EQ(buffer.missing, 0U);
  EXPECT_EQ(buffer.lowest, 8U);
  EXPECT_EQ(buffer.steps, (std::vector<std::uint64_t>{10, 11, 12}));
  EXPECT_THAT(values(), ElementsAre(3, 3, 3, 3, 1, 1, 1, 1, 4, 4));
}

TEST_F(VersionBufferTest, AdjacentSlicesAreNotCopied) {
  auto whole = counting(0);
  const float* place = whole->data();
  const std::weak_ptr<FloatBuffer> watched = whole;
  buffer.begin(7, all.size());
  for (const std::uint32_t slice : {2U, 0U, 1U}) EXPECT_TRUE(take(lying_in(whole, slice)));
  whole.reset();
  Blob kept = buffer.values(all);
  EXPECT_EQ(kept.floats().data(), place);
  EXPECT_THAT(values(), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
  buffer.drop();
  EXPECT_FALSE(watched.expired()) << "a computation uses it";
  kept = {};
  EXPECT_TRUE(watched.expired());
}

TEST_F(VersionBufferTest, OneSliceElsewhereCausesACopy) {
  for (const std::uint32_t strange : {0U, 1U, 2U}) {
    const auto whole = counting(0), other = counting(100);
    buffer.begin(7, all.size());
    for (const std::uint32_t slice : {0U, 1U, 2U})
      EXPECT_TRUE(take(lying_in(slice == strange ? other : whole, slice)));
    std::vector<float> expected(whole->span().begin(), whole->span().end());
    for (std::uint64_t i = all[strange].begin; i < all[strange].end; ++i) expected[i] += 100;
    EXPECT_EQ(values(), expected) << "slice " << strange;
    EXPECT_EQ(whole.use_count(), 1) << "it is not needed any more";
  }
}

TEST_F(VersionBufferTest, UnalignedSlicesAreCopied) {
  const auto larger = std::make_shared<FloatBuffer>(11);
  std::iota(larger->span().begin(), larger->span().end(), 0.0F);
  buffer.begin(7, all.size());
  for (const Slice& slice : all)
    EXPECT_TRUE(take(answer(static_cast<std::uint32_t>(&slice - all.data()), 7,
                            Blob::of_floats(larger, larger->span().subspan(1 + slice.begin, slice.size())))));
  EXPECT_NE(buffer.values(all).floats().data(), larger->data() + 1);
  EXPECT_THAT(values(), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8, 9, 10));
}

TEST_F(VersionBufferTest, AVersionElsewhereIsCompleteWithoutValues) {
  buffer.stand_for(6);
  EXPECT_TRUE(buffer.begun);
  EXPECT_EQ(buffer.missing, 0U);
  EXPECT_EQ(buffer.version, 6U);
  EXPECT_TRUE(buffer.can_be_kept(6));
  EXPECT_TRUE(buffer.values(all).empty());
}

struct OnDevice final : DeviceValues {
  explicit OnDevice(std::vector<float> its) : values(std::move(its)) {}
  [[nodiscard]] std::uint64_t size() const override { return values.size(); }
  [[nodiscard]] OnHost on_host() const override { return {values}; }
  const std::vector<float> values;
};

TEST_F(VersionBufferTest, SlicesStayWhereTheyAreIfOneIsOnADevice) {
  for (int version = 0; version < 2; ++version) {
    SCOPED_TRACE(version);
    buffer.begin(7, all.size());
    const auto device = std::make_shared<OnDevice>(std::vector<float>(4, 2.0F));
    EXPECT_TRUE(take(slice_of(0, 4, 7, 1.0F)));
    EXPECT_TRUE(take(answer(1, 7, Blob(device))));
    EXPECT_TRUE(take(slice_of(2, 2, 7, 3.0F)));
    const Blob whole = buffer.values(all);
    EXPECT_TRUE(whole.holds_floats(10));
    EXPECT_THAT(values(), ElementsAre(1, 1, 1, 1, 2, 2, 2, 2, 3, 3));
    const auto* const sliced = dynamic_cast<const SlicedValues*>(whole.device().get());
    // The first slice of the first version had to be copied, because no slice on a device was known.
    if (version == 0 && sliced == nullptr) continue;
    ASSERT_NE(sliced, nullptr);
    EXPECT_EQ(sliced->parts().size(), 3U);
    EXPECT_EQ(sliced->parts()[1].second.device(), device);
  }
}

}  // namespace
}  // namespace steelyard::version_buffer_test
