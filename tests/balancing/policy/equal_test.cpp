#include "balancing/policy/equal.h"

#include <gmock/gmock.h>

namespace steelyard::balancing::equal_test {
namespace {

using testing::ElementsAre;

Request request_of(std::uint64_t positions, std::vector<WorkerView> workers) {
  return {1, positions, std::move(workers)};
}

TEST(Equal, SplitsEvenlyWithTheRemainderFirst) {
  Equal policy;
  EXPECT_THAT(policy.plan(request_of(512, {{.slot = 0}, {.slot = 1}, {.slot = 5}})),
              ElementsAre(171, 171, 170));
}

TEST(Equal, TimesDoNotMatter) {
  Equal policy;
  policy.observe({.slot = 0, .round = 1, .samples = 100, .seconds = 50});
  EXPECT_THAT(policy.plan(request_of(100, {{.slot = 0}, {.slot = 1}})), ElementsAre(50, 50));
}

TEST(Equal, RespectsBounds) {
  Equal policy;
  EXPECT_THAT(policy.plan(request_of(100, {{.slot = 0, .most = 20}, {.slot = 1}, {.slot = 2}})),
              ElementsAre(20, 40, 40));
  EXPECT_THAT(policy.plan(request_of(100, {{.slot = 0, .least = 60}, {.slot = 1}, {.slot = 2}})),
              ElementsAre(60, 20, 20));
}

TEST(Equal, ShortRoundsGoBelowMinima) {
  Equal policy;
  EXPECT_THAT(policy.plan(request_of(2, {{.slot = 0}, {.slot = 1}, {.slot = 2}})), ElementsAre(1, 1, 0));
  EXPECT_THAT(policy.plan(request_of(96, {{.slot = 0, .least = 64}, {.slot = 1, .least = 64}})),
              ElementsAre(48, 48));
}

}  // namespace
}  // namespace steelyard::balancing::equal_test
