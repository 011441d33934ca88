#include "balancing/allocate/split.h"

#include <gmock/gmock.h>

namespace steelyard::balancing::split_test {
namespace {

using testing::ElementsAre;

Request request_of(std::uint64_t positions, const std::vector<std::uint32_t>& slots) {
  Request request{1, positions, {}};
  for (const std::uint32_t slot : slots) request.workers.push_back({.slot = slot});
  return request;
}

std::vector<std::uint64_t> adapted(const Split& split, const Request& request) {
  return split.adapted(request, share_bounds(request));
}

TEST(Split, ScalesToOtherRoundLengths) {
  const Split split = Split::of(request_of(100, {0, 1, 4}), {50, 30, 20});
  EXPECT_THAT(adapted(split, request_of(100, {0, 1, 4})), ElementsAre(50, 30, 20));
  EXPECT_THAT(adapted(split, request_of(10, {0, 1, 4})), ElementsAre(5, 3, 2));
}

TEST(Split, NewWorkersCountAsTheMean) {
  const Split split = Split::of(request_of(100, {1, 4}), {60, 40});
  EXPECT_THAT(adapted(split, request_of(150, {1, 3, 4})), ElementsAre(60, 50, 40));
  EXPECT_THAT(adapted(split, request_of(100, {4})), ElementsAre(100));
  EXPECT_THAT(adapted(Split(), request_of(9, {1, 3, 4})), ElementsAre(3, 3, 3));
}

TEST(Split, WorkersWithoutSamplesAreNotNew) {
  const Split split = Split::of(request_of(100, {0, 1}), {100, 0});
  EXPECT_THAT(adapted(split, request_of(50, {0, 1})), ElementsAre(49, 1));
}

TEST(Split, FitsOnlyWithinTheBounds) {
  Request request = request_of(100, {0, 1});
  const Split split = Split::of(request, {70, 30});
  EXPECT_TRUE(split.fits(request, share_bounds(request)));
  request.workers[0].most = 60;
  EXPECT_FALSE(split.fits(request, share_bounds(request)));
  EXPECT_THAT(adapted(split, request), ElementsAre(60, 40));
}

TEST(ShareBounds, RestingWorkersGetNothingIfOthersHaveRoom) {
  Request request = request_of(100, {0, 1, 2});
  EXPECT_EQ(share_bounds(request, {1})[1], (Bound{0, 0}));
  request.workers[0].most = request.workers[2].most = 40;
  EXPECT_EQ(share_bounds(request, {1})[1].least, 1u);
  request.workers[0].most = 60;
  EXPECT_EQ(share_bounds(request, {1})[1], (Bound{0, 0}));
  request.workers[1].may_rest = false;
  EXPECT_EQ(share_bounds(request, {1})[1].least, 1u);
}

TEST(LastRound, IsTakenOnceAndOnlyIfComplete) {
  LastRound last;
  const Request request = request_of(10, {0, 1});
  const Split split = Split::of(request, {6, 4});
  last.add({0, 3, 6, 1.0});
  EXPECT_FALSE(last.take(request, split));
  last.add({1, 3, 4, 2.0});
  EXPECT_TRUE(last.take(request, split));
  EXPECT_FALSE(last.take(request, split));
  EXPECT_EQ(last.samples(), 10u);
}

TEST(LastRound, AddsPiecesOfAWorkerAndIgnoresLateOnes) {
  LastRound last;
  last.add({0, 3, 6, 1.0});
  last.add({0, 3, 2, 0.5});
  last.add({1, 2, 9, 9.0});
  EXPECT_EQ(last.find(0)->samples, 8u);
  EXPECT_EQ(last.find(0)->seconds, 1.5);
  EXPECT_EQ(last.find(1), nullptr);
  last.add({1, 4, 9, 9.0});
  EXPECT_EQ(last.find(0), nullptr);
}

}  // namespace
}  // namespace steelyard::balancing::split_test
