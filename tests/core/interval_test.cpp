// Intervals compared with a simple model: one bit per position.
#include "core/interval.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bitset>

#include "core/random.h"

namespace steelyard::interval_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::size_t universe = 96;
using Bits = std::bitset<universe>;

Bits bits_of(Interval interval) {
  Bits bits;
  for (Position p = interval.begin; p < interval.end; ++p) bits.set(p);
  return bits;
}

std::vector<Interval> runs_of(const Bits& bits, Interval whole, bool wanted) {
  std::vector<Interval> runs;
  for (Position p = whole.begin; p < whole.end; ++p) {
    if (bits.test(p) != wanted) continue;
    if (!runs.empty() && runs.back().end == p) {
      ++runs.back().end;
    } else {
      runs.push_back({p, p + 1});
    }
  }
  return runs;
}

Interval some_interval(Random& random) {
  const Position begin = random.below(universe + 1);
  const Position longest = random.below(4) == 0 ? universe - begin : std::min<Position>(8, universe - begin);
  return {begin, begin + random.below(longest + 1)};
}

TEST(Interval, ContainsAndOverlapsAreExactAtTheEdges) {
  const Interval it{10, 20};
  EXPECT_TRUE(it.contains({10, 20}));
  EXPECT_TRUE(it.contains({20, 20})) << "an empty interval at its end";
  EXPECT_FALSE(it.contains({9, 11}));
  EXPECT_FALSE(it.contains({19, 21}));
  EXPECT_FALSE(it.overlaps({0, 10}));
  EXPECT_FALSE(it.overlaps({20, 30}));
  EXPECT_TRUE(it.overlaps({19, 30}));
  EXPECT_TRUE(it.overlaps({0, 100}));
  EXPECT_EQ(it.size(), 10U);
  EXPECT_FALSE((Interval{5, 4}.valid()));
}

TEST(IntervalSet, TouchingIntervalsMerge) {
  IntervalSet set;
  set.add({0, 10});
  set.add({20, 30});
  EXPECT_THAT(set.intervals(), ElementsAre(Interval{0, 10}, Interval{20, 30}));
  set.add({10, 20});
  EXPECT_THAT(set.intervals(), ElementsAre(Interval{0, 30}));
  EXPECT_EQ(set.count(), 30U);
}

TEST(IntervalSet, APartlyCoveredIntervalIsNotAdded) {
  IntervalSet set;
  ASSERT_TRUE(set.add_if_absent({10, 20}));
  const IntervalSet before = set;
  for (const Interval refused :
       {Interval{10, 20}, Interval{0, 11}, Interval{19, 40}, Interval{12, 13}, Interval{0, 99}}) {
    EXPECT_FALSE(set.add_if_absent(refused));
    EXPECT_EQ(set, before);
  }
  EXPECT_TRUE(set.add_if_absent({0, 10}));
  EXPECT_TRUE(set.add_if_absent({20, 30}));
}

TEST(IntervalSet, SupportsTheLargestPositions) {
  constexpr Position last = UINT64_MAX;
  IntervalSet set;
  set.add({last - 5, last});
  set.add({0, 1});
  EXPECT_TRUE(set.contains({last - 1, last}));
  EXPECT_THAT(set.gaps({0, last}), ElementsAre(Interval{1, last - 5}));
}

TEST(IntervalSet, GapsAreLimitedAndInOrder) {
  IntervalSet set;
  for (Position p = 1; p < 40; p += 2) set.add({p, p + 1});
  EXPECT_THAT(set.gaps({0, 40}, 3), ElementsAre(Interval{0, 1}, Interval{2, 3}, Interval{4, 5}));
  EXPECT_THAT(set.gaps({0, 40}, 0), IsEmpty());
  EXPECT_THAT(set.gaps({7, 8}), IsEmpty());
  EXPECT_THAT(set.gaps({40, 50}), ElementsAre(Interval{40, 50}));
}

TEST(IntervalSet, MatchesABitmap) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Random random(seed);
    IntervalSet set;
    Bits model;
    for (int step = 0; step < 60; ++step) {
      const Interval it = some_interval(random);
      const bool absent = (model & bits_of(it)).none();
      if (random.below(2) == 0) {
        ASSERT_EQ(set.add_if_absent(it), absent);
        if (absent) model |= bits_of(it);
      } else if (random.below(20) == 0) {
        set.clear();
        model.reset();
      } else {
        set.add(it);
        model |= bits_of(it);
      }
      const Interval asked = some_interval(random);
      ASSERT_EQ(set.count(), model.count());
      ASSERT_EQ(set.intervals(), runs_of(model, {0, universe}, true));
      ASSERT_EQ(set.gaps(asked), runs_of(model, asked, false));
      ASSERT_EQ(set.contains(asked), (bits_of(asked) & ~model).none());
      ASSERT_EQ(set.overlaps(asked), (bits_of(asked) & model).any());
    }
  }
}

TEST(IntervalSetDeathTest, AnIntervalThatEndsBeforeItsBeginAborts) {
  IntervalSet set;
  EXPECT_DEATH(set.add({5, 4}), "ends before it begins");
}

}  // namespace
}  // namespace steelyard::interval_test
