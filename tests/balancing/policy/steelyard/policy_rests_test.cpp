#include "balancing/policy/steelyard/policy_rests.h"

#include <gmock/gmock.h>

#include <cmath>

namespace steelyard::balancing::rests_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Known = Rests::Known;

TEST(UntilTrial, GrowsWithTheRootOfTheCostOverTheGain) {
  const double once = until_trial(100, 1, 100, 0);
  EXPECT_GT(once, 12);
  EXPECT_NEAR(until_trial(400, 1, 100, 0), 2 * once, 1e-9);
  EXPECT_NEAR(until_trial(100, 4, 100, 0), once / 2, 1e-9);
}

TEST(UntilTrial, GrowsWithTheRestAndWithoutPastUse) {
  EXPECT_GT(until_trial(100, 1, 100, 50), until_trial(100, 1, 100, 0));
  EXPECT_GT(until_trial(100, 1, 2, 0), until_trial(100, 1, 100, 0));
}

TEST(UntilTrial, StaysWithinItsBounds) {
  EXPECT_EQ(until_trial(0, 1, 100, 0), 12);
  EXPECT_EQ(until_trial(-1, 1, 100, 0), 12);
  EXPECT_TRUE(std::isfinite(until_trial(1, 0, 100, 0)));
  EXPECT_TRUE(std::isfinite(until_trial(1, 1, 0, 0)));
}

struct Cluster {
  Rests rests;
  Request request{1, 100, {{.slot = 3}, {.slot = 5}, {.slot = 8}}};
  std::vector<Affine> curves{{0, 1}, {0, 1}, {200, 1}};
  std::vector<Known> known{{50, 0.01, 30, 0}, {50, 0.01, 30, 0}, {50, 0.01, 30, 0}};

  Rests::Shares round() {
    rests.call_back(request);
    return rests.solve(request, curves, known);
  }
};

TEST(Rests, WorkersThatCertainlyDelayRest) {
  Cluster cluster;
  EXPECT_THAT(cluster.round(), ElementsAre(50, 50, 0));
  EXPECT_THAT(cluster.rests.resting(), ElementsAre(8));
}

TEST(Rests, UncertainWorkersKeepASample) {
  Cluster cluster;
  cluster.known[2].doubt = 0.9;
  EXPECT_THAT(cluster.round(), ElementsAre(50, 49, 1));
}

TEST(Rests, RestingWorkersAreTriedWhenDue) {
  Cluster cluster;
  cluster.request.workers.push_back({.slot = 11});
  cluster.curves.push_back({240, 1});
  cluster.known.resize(4, {50, 0.01, 0, 0});  // never useful so far: its trial comes much later
  EXPECT_THAT(cluster.round(), ElementsAre(50, 50, 0, 0));
  while (cluster.rests.on_trial().empty() && cluster.request.round < 1000) {
    ++cluster.request.round;
    cluster.round();
  }
  EXPECT_THAT(cluster.rests.on_trial(), ElementsAre(8));
}

TEST(Rests, ATrialEndsOrRenewsTheRest) {
  for (const bool recovered : {false, true}) {
    Cluster cluster;
    cluster.round();
    while (cluster.rests.on_trial().empty() && cluster.request.round < 1000) {
      ++cluster.request.round;
      cluster.round();
    }
    ASSERT_THAT(cluster.rests.on_trial(), ElementsAre(8));
    if (recovered) cluster.curves[2] = {0, 1};
    cluster.rests.measured(8, cluster.request.round);
    ++cluster.request.round;
    EXPECT_EQ(cluster.round()[2] > 0, recovered);
    EXPECT_EQ(cluster.rests.resting().empty(), recovered);
    EXPECT_THAT(cluster.rests.on_trial(), IsEmpty());
  }
}

// The cluster in the round in which worker 8 is tried.
Cluster trying() {
  Cluster cluster;
  cluster.round();
  while (cluster.rests.on_trial().empty() && cluster.request.round < 1000) {
    ++cluster.request.round;
    cluster.round();
  }
  return cluster;
}

TEST(Rests, ATrialLongerThanTheRoundIsMadeBesideIt) {
  Cluster cluster = trying();
  const Rests::Shares shares{50, 49, 1};
  EXPECT_THAT(cluster.rests.beside_round(cluster.request, cluster.curves, shares), ElementsAre(8));
  cluster.curves[2] = {40, 1};
  EXPECT_THAT(cluster.rests.beside_round(cluster.request, cluster.curves, shares), IsEmpty());
  ++cluster.request.round;
  cluster.curves[2] = {200, 1};
  EXPECT_THAT(cluster.rests.beside_round(cluster.request, cluster.curves, shares), IsEmpty())
      << "begun before";
}

TEST(Rests, UntilATrialIsMeasuredTheWorkerGetsNothingMore) {
  Cluster cluster = trying();
  const std::uint64_t tried = cluster.request.round;
  for (int i = 0; i < 10; ++i) {
    ++cluster.request.round;
    EXPECT_THAT(cluster.round(), ElementsAre(50, 50, 0));
    EXPECT_THAT(cluster.rests.on_trial(), ElementsAre(8));
  }
  cluster.rests.measured(8, tried - 1);  // an older time
  ++cluster.request.round;
  cluster.round();
  EXPECT_THAT(cluster.rests.on_trial(), ElementsAre(8));
  cluster.rests.measured(8, tried);
  cluster.curves[2] = {0, 1};
  ++cluster.request.round;
  EXPECT_THAT(cluster.round(), ElementsAre(34, 33, 33));
}

TEST(Rests, ATrialThatIsNeverMeasuredIsGivenUp) {
  Cluster cluster = trying();
  for (int i = 0; i < 100 && !cluster.rests.on_trial().empty(); ++i) {
    ++cluster.request.round;
    EXPECT_THAT(cluster.round(), ElementsAre(50, 50, 0));
  }
  EXPECT_THAT(cluster.rests.on_trial(), IsEmpty());
  EXPECT_THAT(cluster.rests.resting(), ElementsAre(8)) << "until its next trial";
}

TEST(Rests, WorkersThatAreOftenLateRest) {
  Cluster cluster;
  cluster.curves[2] = {0, 1};
  EXPECT_THAT(cluster.round(), ElementsAre(34, 33, 33));
  cluster.known[2].late = 40;
  EXPECT_THAT(cluster.round(), ElementsAre(50, 50, 0));
  EXPECT_THAT(cluster.rests.resting(), ElementsAre(8));
  cluster.request.round += 64;
  EXPECT_THAT(cluster.rests.call_back(cluster.request), ElementsAre(8));
  EXPECT_THAT(cluster.rests.on_trial(), IsEmpty()) << "its curve was always good, so it needs no trial";
}

TEST(Rests, LateWorkersWorthTheirDelayStay) {
  Cluster cluster;
  cluster.curves[2] = {0, 1};
  cluster.known[2].late = 20;
  EXPECT_THAT(cluster.round(), ElementsAre(34, 33, 33));
}

TEST(Rests, StateRoundTrips) {
  Cluster cluster;
  cluster.round();
  StateWriter writer("rests");
  writer(cluster.rests);
  StateReader reader(writer.str(), "rests");
  Cluster other;
  reader(other.rests);
  reader.end();
  for (int k = 0; k < 200; ++k) {
    ++cluster.request.round, ++other.request.round;
    ASSERT_EQ(cluster.round(), other.round());
  }
}

}  // namespace
}  // namespace steelyard::balancing::rests_test
