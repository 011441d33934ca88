#include "server/shard/slice_memory.h"

#include <gmock/gmock.h>

namespace steelyard::gaps_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Gaps : testing::Test {
  Gaps() {
    for (std::uint64_t begin = 0; begin < 4; begin += 2) {
      SliceMemory& slice = slices.emplace_back(Slice{begin, begin + 2, 0}, Range{0, 4}, 0);
      slice.load(0, 3, 0, Blob::copy_of(std::vector<float>(2)));
    }
  }
  void push(std::size_t slice, Interval positions) {
    slices[slice].add(positions, 1, Blob::copy_of(std::vector<float>(2)));
  }
  [[nodiscard]] std::vector<Interval> gaps(Interval round, Round number = 3) const {
    BeginRound open;
    open.round = number;
    open.positions = round;
    return first_gaps(open, slices);
  }

  std::vector<SliceMemory> slices;
};

TEST_F(Gaps, AreListedOncePerSliceAndNotJoined) {
  push(0, {0, 8});
  push(1, {8, 16});
  EXPECT_THAT(gaps({0, 16}), ElementsAre(Interval{0, 8}, Interval{8, 16}));
  push(0, {8, 16});
  push(1, {0, 4});
  EXPECT_THAT(gaps({0, 16}), ElementsAre(Interval{4, 8}));
}

TEST_F(Gaps, DoNotExistInAClosedRound) { EXPECT_THAT(gaps({0, 16}, 2), IsEmpty()); }

TEST_F(Gaps, AreLimitedToTheFirstSixteen) {
  for (Position p = 0; p < 100; p += 2) push(0, {p, p + 1});
  EXPECT_THAT(gaps({0, 100}), SizeIs(16));
  EXPECT_EQ(gaps({0, 100}).front(), (Interval{0, 100}));  // of the second slice
  EXPECT_EQ(gaps({0, 100})[1], (Interval{1, 2}));
}

}  // namespace
}  // namespace steelyard::gaps_test
