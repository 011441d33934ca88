// `steelyard` on random clusters, static and with one disturbance. They contain cases that the few hand-made
// patterns lack: many workers to leave out, dominant fixed costs, late joins.
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "tests/balancing/clusters.h"

namespace steelyard::balancing::arena::random_clusters_test {
namespace {

constexpr std::uint64_t clusters = 480;

struct Reached {
  double worst = 200, mean = 0, over_alone = 0;  // percent of ideal; time over that of the best single device
};

Reached reached_by(bool disturbed) {
  Reached reached;
  for (std::uint64_t draw = 0; draw < clusters; ++draw) {
    const Scenario scenario = random_cluster(draw, disturbed);
    const auto policy = make_policy("steelyard");
    Oracle oracle(scenario.truth());
    const double ours = total_ms(play(scenario, *policy));
    const double percent = 100 * total_ms(play(scenario, oracle)) / ours;
    reached.worst = std::min(reached.worst, percent);
    reached.mean += percent / static_cast<double>(clusters);
    reached.over_alone = std::max(reached.over_alone, ours / best_single_ms(scenario));
  }
  return reached;
}

// The first rounds, in which the policy does not know yet that most workers only delay, cost a few percent of
// three hundred rounds.
TEST(RandomClusters, ReachesTargetOnStaticClusters) {
  const Reached reached = reached_by(false);
  EXPECT_GE(reached.mean, 99.5);
  EXPECT_GE(reached.worst, 95);
  EXPECT_LE(reached.over_alone, 1.02);
}

TEST(RandomClusters, ReachesTargetWithOneDisturbance) {
  const Reached reached = reached_by(true);
  EXPECT_GE(reached.mean, 98.8);
  EXPECT_GE(reached.worst, 89);
  EXPECT_LE(reached.over_alone, 1.02);
}

}  // namespace
}  // namespace steelyard::balancing::arena::random_clusters_test
