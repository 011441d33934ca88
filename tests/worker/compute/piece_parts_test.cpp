#include "worker/compute/piece_parts.h"

#include <gmock/gmock.h>

#include <vector>

#include "protocol/local_steps.h"

namespace steelyard::piece_parts_test {
namespace {

using testing::ElementsAre;
using testing::Pair;

std::vector<std::pair<std::uint64_t, Interval>> parts(const Piece& piece, std::uint64_t grain = 1) {
  std::vector<std::pair<std::uint64_t, Interval>> all;
  PieceParts walk(piece, grain);
  while (const auto part = walk.next()) all.emplace_back(part->epoch, part->positions);
  EXPECT_FALSE(walk.next());
  return all;
}

Piece piece(Interval positions, LocalSteps local = {}) {
  return {.epoch = 4, .positions = positions, .local = local};
}

TEST(PieceParts, WithoutLocalStepsThereIsOne) {
  EXPECT_THAT(parts(piece({10, 90})), ElementsAre(Pair(4, Interval{10, 90})));
}

// In every pass, that is in every epoch, the same positions.
TEST(PieceParts, AreLocalStepsPassByPass) {
  EXPECT_THAT(parts(piece({0, 10}, {2, 3})),
              ElementsAre(Pair(4, Interval{0, 5}), Pair(4, Interval{5, 10}), Pair(5, Interval{0, 5}),
                          Pair(5, Interval{5, 10}), Pair(6, Interval{0, 5}), Pair(6, Interval{5, 10})));
}

TEST(PieceParts, EndBetweenGrains) {
  EXPECT_THAT(parts(piece({0, 10}, {2, 1}), 4),
              ElementsAre(Pair(4, Interval{0, 8}), Pair(4, Interval{8, 10})));
}

TEST(PieceParts, MayBeBatchesOfOneSize) {
  EXPECT_THAT(parts(piece({5, 14}, {1, 1, 4})),
              ElementsAre(Pair(4, Interval{5, 9}), Pair(4, Interval{9, 13}), Pair(4, Interval{13, 14})));
}

TEST(PieceParts, SomeAreEmptyIfThereAreMoreStepsThanPositions) {
  const auto all = parts(piece({0, 2}, {3, 1}));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_TRUE(all[2].second.empty());
}

}  // namespace
}  // namespace steelyard::piece_parts_test
