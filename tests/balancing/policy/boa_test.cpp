#include "balancing/policy/boa.h"

#include <gmock/gmock.h>

#include "tests/balancing/arena.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing {
namespace {

using arena::Round;
using arena::Scenario;
using testing::Each;

// BOA (Yang, Kang, Youn 2020), the min-max integer program over its own linear models: on the emulator of LBB
// Table 2 the exact optimum is [166, 167, 159, 20] (section 4.7 of the rules).
TEST(Boa, SolvesTheMinMaxProgramOnItsModels) {
  Boa boa;
  const std::vector<Round> rounds = arena::play(Scenario("", 512, 8, arena::lbb_table_2(0)), boa);
  EXPECT_THAT(rounds[0].shares, Each(128u));
  EXPECT_LT(rounds[1].ms, 160);  // after one size a line through the origin
  EXPECT_THAT(rounds[7].shares, testing::ElementsAre(166, 167, 159, 20));
}

TEST(Boa, KeepsItsSplitBetweenSolutions) {
  Boa boa;
  const std::vector<Round> rounds = arena::play(Scenario("", 512, 60, arena::lbb_table_2(0.01)), boa);
  for (std::size_t k = 10; k < 40; ++k) EXPECT_EQ(rounds[k].shares, rounds[9].shares) << "round " << k + 1;
}

TEST(Boa, SolvesAgainWhenTheTimeIsTenPercentOff) {
  Scenario scenario("", 512, 60, arena::lbb_table_2(0));
  scenario.scale(0, 20, 61, 3);
  Boa boa;
  const std::vector<Round> rounds = arena::play(scenario, boa);
  EXPECT_EQ(rounds[18].share(0), 166u);
  EXPECT_LT(rounds[26].share(0), 80u);
  EXPECT_LT(rounds[40].straggler_effect(), 0.1);
}

TEST(Boa, SolvesAgainAfterThePeriod) {
  const auto last_share = [](std::uint64_t period) {
    // 4 % slower: below the deviation, above the gain.
    Scenario scenario("", 2000, 80, {{{0, 1}, "gpu", 0}, {{0, 1}, "gpu", 0}});
    scenario.scale(0, 10, 81, 1.08);
    Boa boa({.period = period});
    return arena::play(scenario, boa).back().share(0);
  };
  EXPECT_EQ(last_share(1000), 1000u);
  EXPECT_NEAR(static_cast<double>(last_share(30)), 962, 6);
}

TEST(Boa, ASplitThatGainsTooLittleIsNotTaken) {
  Boa boa({.period = 5});
  const Scenario scenario("", 2000, 40, {{{0, 1}, "gpu", 0}, {{0, 1.03}, "gpu", 0}});
  EXPECT_THAT(arena::play(scenario, boa).back().shares, Each(1000u));
}

}  // namespace
}  // namespace steelyard::balancing
