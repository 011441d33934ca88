#include <gmock/gmock.h>

#include "balancing/policies.h"

namespace steelyard::balancing::memory_test {
namespace {

TEST(Memory, SharesAreInProportionToRoom) {
  const auto policy = make_policy("memory");
  EXPECT_THAT(policy->plan({1, 60, {{.slot = 0, .most = 40}, {.slot = 1, .most = 80}}}),
              testing::ElementsAre(24, 36));
}

}  // namespace
}  // namespace steelyard::balancing::memory_test
