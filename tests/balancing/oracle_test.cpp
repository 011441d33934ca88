#include "balancing/oracle.h"

#include <gmock/gmock.h>

#include "tests/balancing/arena.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::oracle_test {
namespace {

using testing::ElementsAre;

// LBB (Yao et al. 2024), Table 2: the exact optimum of its two-point lines.
TEST(Oracle, FindsTheOptimumOfTable2) {
  const arena::Scenario scenario("", 512, 1, arena::lbb_table_2());
  Oracle knowing(scenario.truth());
  EXPECT_THAT(knowing.plan(scenario.request(1)), ElementsAre(166, 167, 159, 20));
}

TEST(Oracle, KnowsDisturbancesInAdvance) {
  arena::Scenario scenario("", 90, 10, {{{0, 1}, DeviceKind::gpu, 0}, {{0, 1}, DeviceKind::gpu, 0}});
  scenario.scale(1, 5, 6, 2);
  Oracle oracle(scenario.truth());
  EXPECT_THAT(oracle.plan(scenario.request(4)), ElementsAre(45, 45));
  EXPECT_THAT(oracle.plan(scenario.request(5)), ElementsAre(60, 30));
  EXPECT_THAT(oracle.plan(scenario.request(6)), ElementsAre(45, 45));
}

TEST(Oracle, LeavesOutWorkersThatOnlyDelayAndMayRest) {
  const arena::Scenario scenario("", 100, 1, {{{0, 1}}, {{500, 1}}});
  Oracle oracle(scenario.truth());
  Request request = scenario.request(1);
  EXPECT_THAT(oracle.plan(request), ElementsAre(100, 0));
  request.workers[1].may_rest = false;
  EXPECT_THAT(oracle.plan(request), ElementsAre(99, 1));
  request.workers[1].may_rest = true, request.workers[1].least = 10;
  EXPECT_THAT(oracle.plan(request), ElementsAre(90, 10));
}

}  // namespace
}  // namespace steelyard::balancing::oracle_test
