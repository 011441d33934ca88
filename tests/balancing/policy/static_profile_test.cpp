#include "balancing/policy/static_profile.h"

#include <gmock/gmock.h>

namespace steelyard::balancing::static_profile_test {
namespace {

using testing::ElementsAre;

Request request_of(std::uint64_t positions, std::uint32_t workers) {
  Request request{1, positions, {}};
  for (std::uint32_t slot = 0; slot < workers; ++slot) request.workers.push_back({.slot = slot});
  return request;
}

// x_i = X v_i / sum v, by largest remainder: 213.3, 170.7, 85.3 and 42.7 of 512.
TEST(Static, SharesAreProportionalToSpeeds) {
  StaticProfile policy({.speeds = {100, 80, 40, 20}});
  EXPECT_THAT(policy.plan(request_of(512, 4)), ElementsAre(213, 171, 85, 43));
}

// LBB (Yao et al. 2024), Table 2: the exact optimum of its two-point lines.
TEST(Static, FindsTheOptimumOfCurves) {
  StaticProfile policy({.curves = Profile({{"", {{5.896, 0.59308}}},
                                           {"", {{7.151, 0.58077}}},
                                           {"", {{8.291, 0.60233}}},
                                           {"", {{50.982, 2.67139}}}})});
  EXPECT_THAT(policy.plan(request_of(512, 4)), ElementsAre(166, 167, 159, 20));
}

// Without the third worker the others need 30 ms; it needs 51 for one sample.
const Profile one_delays({{"", {{0, 0.5}}}, {"", {{0, 0.5}}}, {"", {{50, 1}}}});

TEST(Static, AWorkerThatOnlyDelaysGetsNothing) {
  StaticProfile policy({.curves = one_delays});
  EXPECT_THAT(policy.plan(request_of(120, 3)), ElementsAre(60, 60, 0));
  EXPECT_THAT(policy.plan(request_of(300, 3)), ElementsAre(140, 140, 20)) << "in a longer round it helps";
}

TEST(Static, AWorkerThatMayNotRestGetsItsMinimum) {
  StaticProfile policy({.curves = one_delays});
  Request request = request_of(120, 3);
  request.workers[2].may_rest = false;
  EXPECT_THAT(policy.plan(request), ElementsAre(60, 59, 1));
}

TEST(Static, TimesDoNotMatter) {
  StaticProfile policy({.speeds = {2, 1}});
  policy.observe({0, 1, 20, 100});
  EXPECT_THAT(policy.plan(request_of(30, 2)), ElementsAre(20, 10));
}

TEST(Static, UnknownWorkersCountAsTheMean) {
  StaticProfile policy({.speeds = {3, 1}});
  EXPECT_THAT(policy.plan(request_of(60, 3)), ElementsAre(30, 10, 20));
  StaticProfile curves({.curves = Profile({{"", {{0, 1}}}, {"", {{0, 3}}}})});
  EXPECT_THAT(curves.plan(request_of(110, 3)), ElementsAre(60, 20, 30));
}

TEST(Static, IsEqualWithoutAProfile) {
  StaticProfile policy;
  EXPECT_THAT(policy.plan(request_of(31, 3)), ElementsAre(11, 10, 10));
}

}  // namespace
}  // namespace steelyard::balancing::static_profile_test
