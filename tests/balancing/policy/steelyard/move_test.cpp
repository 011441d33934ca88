#include "balancing/policy/steelyard/move.h"

#include <gmock/gmock.h>

namespace steelyard::balancing::move_test {
namespace {

using testing::ElementsAre;
using Known = Move::Known;

struct Pair {
  Move move;
  Request request{1, 200, {{.slot = 0}, {.slot = 1}}};
  std::vector<Known> known{{false, 0.01}, {false, 0.01}};

  std::vector<std::uint64_t> to(double first, double second, std::vector<std::uint64_t> best) {
    return move.to(request, {{0, first}, {0, second}}, known, std::move(best)).shares;
  }
};

TEST(Move, TheFirstSplitIsAppliedUnchanged) {
  Pair pair;
  EXPECT_THAT(pair.to(1, 3, {150, 50}), ElementsAre(150, 50));
  EXPECT_EQ(pair.move.split().total(), 200u);
}

TEST(Move, GainsBelowTheDoubtMoveNothing) {
  Pair pair;
  pair.to(1, 1, {100, 100});
  EXPECT_THAT(pair.to(1, 1.004, {101, 99}), ElementsAre(100, 100));
  EXPECT_THAT(pair.to(1, 1.02, {101, 99}), ElementsAre(101, 99));
  pair.known[1].doubt = 0.2;
  EXPECT_THAT(pair.to(1, 1.04, {102, 98}), ElementsAre(101, 99));
}

TEST(Move, OneRoundMovesAShareByAtMostFivePercent) {
  Pair pair;
  pair.to(1, 1, {100, 100});
  EXPECT_THAT(pair.to(1, 3, {150, 50}), ElementsAre(105, 95));
  EXPECT_THAT(pair.to(1, 3, {150, 50}), ElementsAre(150, 50)) << "the next round confirms the split";
}

TEST(Move, AChangingWorkerMovesAtOnce) {
  Pair pair;
  pair.to(1, 1, {100, 100});
  pair.known[1].changing = true;
  EXPECT_THAT(pair.to(1, 3, {150, 50}), ElementsAre(150, 50));
}

TEST(Move, RestsBeginAndEndAtOnce) {
  Pair pair;
  pair.to(1, 1, {100, 100});
  EXPECT_THAT(pair.to(1, 1, {200, 0}), ElementsAre(200, 0));
  EXPECT_THAT(pair.to(1, 1, {199, 1}), ElementsAre(199, 1));
}

TEST(Move, NewBoundsApplyAtOnce) {
  Pair pair;
  pair.to(1, 1, {100, 100});
  pair.request.workers[0].most = 60;
  EXPECT_THAT(pair.to(1, 1, {60, 140}), ElementsAre(60, 140));
}

}  // namespace
}  // namespace steelyard::balancing::move_test
