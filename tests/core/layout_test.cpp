// Layouts, their division into slices, and the borders of shards.
#include "core/layout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "core/random.h"

namespace steelyard::layout_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Layout, TensorsAreContiguousAndEqualRangesMerge) {
  Layout layout;
  append(layout, "conv.weight", {6, 5, 5});
  append(layout, "conv.bias", {6}, Rule::step, 0);
  append(layout, "head.bias", {10}, Rule::step, 0);
  append(layout, "norm.mean", {4}, Rule::ema, 0);
  ASSERT_EQ(layout.tensors.size(), 4U);
  EXPECT_EQ(layout.tensors[1].offset, 150U);
  EXPECT_EQ(layout.tensors[3].offset, 166U);
  EXPECT_EQ(layout.size(), 170U);
  ASSERT_EQ(layout.ranges.size(), 3U);
  EXPECT_EQ(layout.ranges[1], (Range{150, 166, Rule::step, 0, 0}));
  EXPECT_EQ(layout.ranges[2].rule, Rule::ema);
}

TEST(Layout, AScalarHasOneFloat) { EXPECT_EQ((TensorPlace{"step", {}, 0}.size()), 1U); }

TEST(Layout, SlicesTileTheBufferWithinRanges) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Layout layout;
    for (std::uint64_t i = 0; i <= random.below(6); ++i) {
      append(layout, "t" + std::to_string(i), {1 + random.below(40)},
             random.below(2) == 0 ? Rule::step : Rule::mean, static_cast<double>(random.below(2)));
    }
    layout.slice_size = 1 + random.below(20);
    std::uint64_t at = 0;
    for (const Slice& slice : slices(layout)) {
      ASSERT_EQ(slice.begin, at);
      ASSERT_GT(slice.size(), 0U);
      ASSERT_LE(slice.size(), layout.slice_size);
      const Range& range = layout.ranges.at(slice.range);
      ASSERT_GE(slice.begin, range.begin);
      ASSERT_LE(slice.end, range.end);
      at = slice.end;
    }
    ASSERT_EQ(at, layout.size());
  }
}

TEST(Layout, ImpossibleLayoutsAreRefused) {
  const auto refusal = [](const Layout& layout) -> std::string {
    try {
      (void)slices(layout);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  };
  EXPECT_THAT(refusal({}), HasSubstr("no parameters"));
  EXPECT_THAT(refusal({{}, {{0, 10}}, 0}), HasSubstr("no parameters")) << "slices of size 0";
  EXPECT_THAT(refusal({{}, {{5, 10}}, 4}), HasSubstr("hole"));
  EXPECT_THAT(refusal({{}, {{0, 10}, {11, 20}}, 4}), HasSubstr("hole"));
  EXPECT_THAT(refusal({{}, {{0, 10}, {9, 20}}, 4}), HasSubstr("overlap"));
  EXPECT_THAT(refusal({{}, {{0, 10}, {10, 10}, {10, 20}}, 4}), HasSubstr("float 10")) << "an empty range";
}

Layout with_slices(std::uint64_t count) { return {{}, {{0, 2 * count}}, 2}; }

TEST(Layout, ShardBordersAreFairAndComplete) {
  EXPECT_THAT(shard_borders(with_slices(5), 2), ElementsAre(0, 2, 5));
  EXPECT_THAT(shard_borders(with_slices(2), 4), ElementsAre(0, 0, 1, 1, 2))
      << "with more shards than slices, some shards are empty";
  for (std::uint32_t count = 1; count < 60; ++count) {
    for (std::uint32_t shards = 1; shards < 12; ++shards) {
      const auto borders = shard_borders(with_slices(count), shards);
      ASSERT_EQ(borders.size(), shards + 1);
      ASSERT_EQ(borders.front(), 0U);
      ASSERT_EQ(borders.back(), count);
      for (std::uint32_t i = 0; i < shards; ++i) {
        const std::uint32_t own = borders[i + 1] - borders[i];
        ASSERT_GE(own, count / shards);
        ASSERT_LE(own, (count + shards - 1) / shards);
      }
    }
  }
}

TEST(Layout, NormGroupsAreTensorsWithDecay) {
  Layout layout;
  append(layout, "a.weight", {3, 4});
  append(layout, "b.weight", {5});
  append(layout, "b.bias", {2}, Rule::step, 0);
  append(layout, "c.bias", {3}, Rule::step, 0);
  append(layout, "c.mean", {4}, Rule::ema, 1, 0.5);
  append(layout, "d.weight", {1});
  layout.slice_size = 4;
  const Layout grouped = with_norm_groups(layout);
  EXPECT_EQ(grouped.tensors, layout.tensors);
  EXPECT_EQ(grouped.slice_size, 4U);
  EXPECT_THAT(grouped.ranges,
              ElementsAre(Range{0, 12, Rule::step, 1, 1}, Range{12, 17, Rule::step, 1, 2},
                          Range{17, 22, Rule::step, 0, 0}, Range{22, 26, Rule::ema, 1, 0, 0.5},
                          Range{26, 27, Rule::step, 1, 6}));
  EXPECT_EQ(damage_of(grouped), "");
  EXPECT_EQ(with_norm_groups(grouped), grouped);
}

TEST(Layout, MovingAveragesWithDifferentFactorsAreSeparateRanges) {
  Layout layout;
  append(layout, "mean", {4}, Rule::ema, 0, 0.5);
  append(layout, "variance", {4}, Rule::ema, 0, 0.5);
  append(layout, "other", {4}, Rule::ema, 0, 0.9);
  ASSERT_EQ(layout.ranges.size(), 2U);
  EXPECT_EQ(layout.ranges[0].keep, 0.5);
  EXPECT_EQ(layout.ranges[0].end, 8U);
}

TEST(Layout, DifferentFactorsAreSeparateRanges) {
  Layout layout;
  append(layout, "body", {4});
  append(layout, "still body", {4});
  append(layout, "head", {4}, Rule::step, 1, 0.9, 10);
  append(layout, "embedding", {4}, Rule::step, 0.5, 0.9, 10);
  append(layout, "bias", {4}, Rule::step, 0, 0.9, 10);
  layout.slice_size = 16;
  ASSERT_EQ(layout.ranges.size(), 4U);
  EXPECT_EQ(layout.ranges[0].end, 8U);
  EXPECT_EQ(layout.ranges[0].rate, 1);
  EXPECT_EQ(layout.ranges[1].rate, 10);
  EXPECT_EQ(layout.ranges[2].decay, 0.5);
  const Layout grouped = with_norm_groups(layout);
  ASSERT_EQ(grouped.ranges.size(), 5U);
  EXPECT_EQ(grouped.ranges[3], (Range{12, 16, Rule::step, 0.5, 4, 0.9, 10})) << "any decay above 0";
  EXPECT_EQ(grouped.ranges[4].norm_group, 0U);
}

TEST(Layout, ANormGroupLiesOnOneShard) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    Layout layout;
    for (std::uint64_t i = 0; i <= random.below(8); ++i) {
      append(layout, "t" + std::to_string(i), {1 + random.below(60)}, Rule::step,
             static_cast<double>(random.below(3)) / 2);
    }
    layout.slice_size = 1 + random.below(12);
    layout = with_norm_groups(layout);
    const std::vector<Slice> all = slices(layout);
    const auto shards = static_cast<std::uint32_t>(1 + random.below(6));
    const auto borders = shard_borders(layout, shards);
    ASSERT_EQ(borders.size(), shards + 1);
    ASSERT_TRUE(std::ranges::is_sorted(borders));
    ASSERT_EQ(borders.front(), 0U);
    ASSERT_EQ(borders.back(), all.size());
    for (const std::uint32_t border : borders) {
      if (border == 0 || border == all.size() || all[border - 1].range != all[border].range) continue;
      ASSERT_EQ(layout.ranges[all[border].range].norm_group, 0U) << border;
    }
  }
}

TEST(Layout, TheDefaultSliceSizeReachesEveryShard) {
  EXPECT_EQ(default_slice_size(100'000'000, 2), 262144U) << "at most 1 MB";
  EXPECT_EQ(default_slice_size(4'000'000, 2), 125'000U / 16 * 16) << "in between, 16 slices per shard";
  EXPECT_EQ(default_slice_size(1'000'000, 2), 65536U)
      << "256 KB if that gives fewer than 16 slices per shard";
  EXPECT_EQ(default_slice_size(1, 4), 16U) << "at least a cache line";
  for (std::uint64_t parameters : {100U, 7850U, 61706U, 535818U}) {
    for (std::uint32_t shards = 1; shards <= 6; ++shards) {
      const std::uint64_t size = default_slice_size(parameters, shards);
      EXPECT_EQ(size % 16, 0U);
      const std::uint64_t count = (parameters + size - 1) / size;
      if (parameters >= std::uint64_t{16} * shards * shards) {
        EXPECT_GE(count, shards) << parameters << " on " << shards;
      }
    }
  }
}

TEST(Layout, DamageOfReceivedLayoutsIsNamed) {
  Layout good;
  append(good, "w", {3, 4});
  append(good, "b", {4}, Rule::step, 0);
  EXPECT_EQ(damage_of(good), "");
  const auto damaged = [&](auto change) {
    Layout layout = good;
    change(layout);
    return damage_of(layout);
  };
  EXPECT_EQ(damaged([](Layout& it) { it.ranges[1].begin = 13; }), "its ranges have holes");
  EXPECT_EQ(damaged([](Layout& it) { it.tensors[1].offset = 13; }), "its tensors have holes");
  EXPECT_EQ(damaged([](Layout& it) { it.tensors.pop_back(); }), "its layout is invalid");
  EXPECT_EQ(damaged([](Layout& it) { it = {}; }), "its layout is invalid");
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {-0.5, 2 * largest_factor, none}) {
    for (double Range::*factor : {&Range::decay, &Range::rate, &Range::keep}) {
      EXPECT_EQ(damaged([&](Layout& it) { it.ranges[1].*factor = bad; }), "its ranges have invalid factors")
          << bad;
    }
  }
  EXPECT_EQ(damaged([](Layout& it) { it.ranges[1].rate = it.ranges[0].decay = largest_factor; }), "");
  // A product of dimensions that overflows to 0.
  const std::uint64_t half = std::uint64_t{1} << 32;
  EXPECT_EQ(damaged([&](Layout& it) {
              it.ranges = {{0, half, Rule::step, 1, 0}};
              it.tensors = {{"w", {half, half}, 0}, {"b", {half}, 0}};
            }),
            "\"w\" is larger than the model");
}

TEST(Layout, ATooLargeModelIsRefusedBeforeCountingSlices) {
  Layout layout;
  append(layout, "w", {std::uint64_t{1} << 46});
  layout.slice_size = 262144;
  EXPECT_THROW((void)slices(layout), Failure);
}

}  // namespace
}  // namespace steelyard::layout_test
