#include "balancing/allocate/left_out.h"

#include <gmock/gmock.h>

namespace steelyard::balancing::left_out_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Shares = std::vector<std::uint64_t>;

constexpr std::uint64_t least = 10;  // rounds

// Without the third worker the others take 1 second for 100 samples each; it takes 6 seconds for one.
const std::vector<Affine> curves{{0, 0.01}, {0, 0.01}, {6, 0.01}};
const Shares without{100, 100, 0};

Request request_of(std::uint64_t round) { return {round, 200, {{.slot = 0}, {.slot = 1}, {.slot = 2}}}; }

// The third worker is left out in round 4 and tried; the solution for round 5 leaves it out again.
LeftOut resting_from_round_5(std::uint64_t at_least = least) {
  LeftOut left_out;
  left_out.settle(request_of(4), curves, without, at_least);
  left_out.start_trials(request_of(4));
  left_out.settle(request_of(5), curves, without, at_least);
  return left_out;
}

// Starts the trial as soon as it is due, and returns its round.
std::uint64_t next_trial(LeftOut& left_out, std::uint64_t from) {
  for (std::uint64_t round = from; round < from + 10'000; ++round) {
    if (!left_out.start_trials(request_of(round)).empty()) return round;
  }
  return 0;
}

// Its model may be wrong, so it does not rest before a round with one sample.
TEST(LeftOut, AWorkerThatTheSolutionLeavesOutIsTriedFirst) {
  LeftOut left_out;
  left_out.settle(request_of(4), curves, without, least);
  EXPECT_THAT(left_out.start_trials(request_of(4)), ElementsAre(2u));
  EXPECT_TRUE(left_out.trying());
  EXPECT_EQ(left_out.bounds(request_of(4))[2], (Bound{1, 1}));
}

TEST(LeftOut, AWorkerRestsAfterAFailedTrial) {
  const LeftOut left_out = resting_from_round_5();
  EXPECT_EQ(left_out.bounds(request_of(6))[2], (Bound{0, 0}));
  EXPECT_EQ(left_out.bounds(request_of(6))[0].least, 1u);
  EXPECT_EQ(left_out.bounds_to_solve(request_of(6))[2], (Bound{0, 0}));
  EXPECT_FALSE(left_out.trying());
}

TEST(LeftOut, EveryWorkerThatMayRestMayBeLeftOutOfASolution) {
  Request request = request_of(1);
  request.workers[0].may_rest = false;
  request.workers[1].least = 3;
  const std::vector<Bound> bounds = LeftOut().bounds_to_solve(request);
  EXPECT_EQ(bounds[0].least, 1u);
  EXPECT_EQ(bounds[1].least, 3u);
  EXPECT_EQ(bounds[2].least, 0u);
}

TEST(LeftOut, AWorkerThatMayNotRestGetsItsMinimum) {
  LeftOut left_out;
  Request request = request_of(5);
  request.workers[2].may_rest = false;
  left_out.settle(request, curves, without, least);
  EXPECT_THAT(left_out.start_trials(request), IsEmpty());
  EXPECT_EQ(left_out.bounds(request)[2].least, 1u);
  // The same if the request changes while the worker rests.
  EXPECT_EQ(resting_from_round_5().bounds(request)[2].least, 1u);
}

TEST(LeftOut, NoWorkerRestsIfTheOthersCannotTakeTheRound) {
  Request request = request_of(6);
  request.workers[0].most = request.workers[1].most = 99;
  EXPECT_EQ(resting_from_round_5().bounds(request)[2].least, 1u);
}

// A trial of one sample also leaves a round that the others cannot take.
TEST(LeftOut, ATrialDoesNotMakeARoundImpossible) {
  LeftOut left_out = resting_from_round_5();
  const std::uint64_t trial = next_trial(left_out, 6);
  Request request = request_of(trial);
  EXPECT_EQ(left_out.bounds(request)[2], (Bound{1, 1}));
  request.workers[0].most = request.workers[1].most = 90;
  EXPECT_EQ(left_out.bounds(request)[2].most, UINT64_MAX);
}

// The trial costs 5.01 seconds. If the fixed cost were gone, three equal workers would save a third of a
// second per round: 16 rounds.
TEST(LeftOut, ARestLastsUntilATrialPays) {
  LeftOut left_out = resting_from_round_5();
  EXPECT_EQ(next_trial(left_out, 6), 5u + 16);
}

TEST(LeftOut, ARestLastsAtLeastAsLongAsThePolicyAsks) {
  LeftOut left_out = resting_from_round_5(50);
  EXPECT_EQ(next_trial(left_out, 6), 55u);
}

TEST(LeftOut, EveryFurtherTrialThatFailsDoublesTheRest) {
  LeftOut left_out = resting_from_round_5();
  std::uint64_t trial = next_trial(left_out, 6);
  for (std::uint64_t rest = 32; rest < 1000; rest *= 2) {
    EXPECT_TRUE(left_out.trying());
    EXPECT_EQ(left_out.bounds(request_of(trial))[2], (Bound{1, 1}));
    EXPECT_EQ(left_out.bounds_to_solve(request_of(trial))[2], (Bound{0, UINT64_MAX}));
    left_out.settle(request_of(trial + 1), curves, without, least);
    EXPECT_FALSE(left_out.trying());
    const std::uint64_t next = next_trial(left_out, trial + 1);
    EXPECT_EQ(next, trial + 1 + rest);
    trial = next;
  }
}

TEST(LeftOut, AWorkerThatRecoveredWorksAndIsJudgedAnew) {
  LeftOut left_out = resting_from_round_5();
  const std::uint64_t trial = next_trial(left_out, 6);
  const std::vector<Affine> equal(3, Affine{0, 0.01});
  left_out.settle(request_of(trial + 1), equal, {67, 67, 66}, least);
  EXPECT_EQ(left_out.bounds(request_of(trial + 2))[2], (Bound{1, UINT64_MAX}));
  left_out.settle(request_of(trial + 2), curves, without, least);
  EXPECT_EQ(next_trial(left_out, trial + 2), trial + 2);
}

// In a round with fewer samples than workers, equal workers get nothing without being slower.
TEST(LeftOut, AWorkerThatWouldDelayNothingDoesNotRest) {
  LeftOut left_out;
  const Request request{1, 2, {{.slot = 0}, {.slot = 1}, {.slot = 2}}};
  left_out.settle(request, std::vector<Affine>(3, Affine{0, 0.01}), {1, 1, 0}, least);
  EXPECT_THAT(left_out.start_trials(request_of(2)), IsEmpty());
  EXPECT_EQ(left_out.bounds(request_of(2))[2].least, 1u);
}

TEST(LeftOut, WorkersThatLeaveAreForgotten) {
  LeftOut left_out = resting_from_round_5();
  left_out.forget_all_but({0, 1});
  EXPECT_EQ(left_out.bounds(request_of(6))[2].least, 1u);
  EXPECT_THAT(left_out.start_trials(request_of(5000)), IsEmpty());
}

TEST(LeftOut, StartsOnlyTheTrialsOfWorkersPresent) {
  LeftOut left_out = resting_from_round_5();
  const Request two{100, 200, {{.slot = 0}, {.slot = 1}}};
  EXPECT_THAT(left_out.start_trials(two), IsEmpty());
  EXPECT_THAT(left_out.start_trials(request_of(100)), ElementsAre(2u));
}

}  // namespace
}  // namespace steelyard::balancing::left_out_test
