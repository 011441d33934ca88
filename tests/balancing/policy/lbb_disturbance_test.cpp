// Figure 7 of LBB (Yao, Liu, Gao: J. Supercomputing 2024) and the logs behind it, on the emulator of Table 2:
// a slowdown of about 50 ms that moves to the next worker every 40 rounds.
//
// The paper does not say whether the victim loses a share of its speed or a fixed time per round. The rapid
// line T(b) = (CT - a0) / CB b + a0 (Alg. 2) keeps the a0 of the profile, so it is nearly right for a loss of
// speed, but attributes all of a fixed time to the samples. Both cases are tested.
//
// Two details of Fig. 7 cannot be reproduced. Its first jump, to 0.84, would need a slowdown of 111 ms on a
// balanced cluster. Its fourth event waits about five rounds for the window to open, although the counter of
// the released code stops as long as SE is above 0.06.
#include <gmock/gmock.h>

#include <algorithm>

#include "balancing/allocate/min_max.h"
#include "balancing/policy/lbb.h"
#include "core/text.h"
#include "tests/balancing/arena.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::lbb_disturbance_test {
namespace {

using arena::Round;
using arena::Scenario;

constexpr std::uint64_t first = 25, period = 40;
constexpr std::uint64_t onset(std::uint64_t victim) { return first + period * victim; }

std::vector<Affine> lines() {
  std::vector<Affine> all;
  for (const arena::Machine& machine : arena::lbb_table_2(0))
    all.push_back({machine.time_ms[0], machine.time_ms[1]});
  return all;
}

LbbOptions options_with_profile(LbbOptions options = {}) {
  std::vector<Profile::Line> profile;
  for (const Affine& line : lines())
    profile.push_back({"", {{line.fixed / 1000, line.per_sample / 1000, 0, 0}}});
  options.profile = Profile(profile);
  return options;
}

// Each worker in turn takes `factor` times as long plus `ms`.
std::vector<Round> rotating(const LbbOptions& options, double factor, double ms, std::uint64_t victims = 4) {
  std::vector<arena::Machine> machines = arena::lbb_table_2(0);
  machines.resize(victims);
  Scenario scenario("", 512, onset(victims), machines);
  for (std::uint32_t victim = 0; victim < victims; ++victim) {
    scenario.scale(victim, onset(victim), onset(victim + 1), factor);
    scenario.add(victim, onset(victim), onset(victim + 1), ms);
  }
  Lbb policy(options);
  return arena::play(scenario, policy);
}

// SE in the round `after` rounds after the onset.
double effect(const std::vector<Round>& rounds, std::uint64_t victim, std::uint64_t after) {
  return rounds[onset(victim) + after - 1].straggler_effect();
}

// Fig. 7: SE is below 0.15 in the first round of the rapid step, which the guard delays by one round, and
// below 0.1 three rounds later. 1.48 times the 104 ms of the balanced cluster is 50 ms more.
TEST(LbbDisturbance, OneRapidStepCorrectsALossOfSpeed) {
  const std::vector<Round> rounds = rotating(options_with_profile(), 1.48, 0);
  for (std::uint64_t victim = 0; victim < 4; ++victim) {
    EXPECT_GT(effect(rounds, victim, 0), 0.4) << victim;
    EXPECT_LT(effect(rounds, victim, 2), 0.15) << victim;
    for (std::uint64_t after = 5; after < period; ++after) {
      ASSERT_LT(effect(rounds, victim, after), 0.1) << victim << ", " << after;
    }
  }
}

// A fixed time instead. The step is exactly that of Alg. 2. For victims with at least a hundred samples it
// reaches an SE of 0.16. The GTX 750 has 25 samples, and with 50 ms more the line makes each of them almost
// twice as slow as it is. So the fourth victim does not get below 0.15 in one step; fine steps bring it
// there.
TEST(LbbDisturbance, TheRapidStepOvercorrectsAFixedDelay) {
  const std::vector<Round> rounds = rotating(options_with_profile(), 1, 50);
  for (std::uint64_t victim = 0; victim < 4; ++victim) {
    const Round& before = rounds[onset(victim)];  // the second round with the disturbance
    const Round& after = rounds[onset(victim) + 1];
    std::vector<Affine> rapid, truth = lines();
    for (std::size_t i = 0; i < 4; ++i) {
      const double a0 = truth[i].fixed;
      rapid.push_back({a0, (before.compute_ms[i] - a0) / static_cast<double>(before.shares[i])});
    }
    const std::vector<Bound> bounds(4, Bound{1, 512});
    EXPECT_EQ(after.shares, min_max(rapid, bounds, 512)) << victim;
    if (victim < 3) {
      EXPECT_LT(effect(rounds, victim, 2), 0.16) << victim;
      EXPECT_LT(effect(rounds, victim, 3), 0.15) << victim;
    } else {
      EXPECT_GT(rapid[3].per_sample, 1.7 * truth[3].per_sample);
      EXPECT_NEAR(effect(rounds, victim, 2), 0.22, 0.01);
    }
    for (std::uint64_t later = 5; later < period; ++later) {
      ASSERT_LT(effect(rounds, victim, later), 0.15) << victim << ", " << later;
    }
    // The same equation with the a0 that the victim has now would balance the cluster in one step.
    truth[victim].fixed += 50;
    const std::vector<std::uint64_t> best = min_max(truth, bounds, 512);
    std::vector<double> times;
    for (std::size_t i = 0; i < 4; ++i) times.push_back(truth[i](static_cast<double>(best[i])));
    EXPECT_LT(relative_spread(times), 0.05) << victim;
  }
}

// As released, with the 40 ms of the authors' logs. When one victim recovers and the next is slowed down, SE
// jumps to the values of Fig. 7: 0.68, 0.66 and 0.67. One or two rounds after the rapid step it is below
// 0.15.
TEST(LbbDisturbance, AsReleasedSeJumpsAsInFigure7) {
  const std::vector<Round> rounds = rotating(options_with_profile(lbb_as_released()), 1, 40);
  const std::vector<double> shown{0.68, 0.66, 0.67};
  for (std::uint64_t victim = 1; victim < 4; ++victim) {
    EXPECT_NEAR(effect(rounds, victim, 0), shown[victim - 1], 0.03) << victim;
    EXPECT_LT(effect(rounds, victim, 1), 0.16) << victim;
    EXPECT_LT(effect(rounds, victim, 2), 0.15) << victim;
  }
}

// As released, with 50 ms: fine steps balance so slowly that the 30 balanced rounds are not over when the
// third victim is slowed down, and after that no rounds are counted any more. Our version opens the window.
TEST(LbbDisturbance, AsReleasedAClosedWindowStaysClosed) {
  const std::vector<Round> released = rotating(options_with_profile(lbb_as_released()), 1, 50),
                           ours = rotating(options_with_profile(), 1, 50);
  EXPECT_GT(effect(released, 2, 20), 0.6);
  EXPECT_LT(effect(ours, 2, 20), 0.1);
}

// The logs of three GPUs: SE is 0.39 to 0.43, and 0.04 to 0.08 after the rapid step. On the three large GPUs
// of Table 2, 50 ms reproduce the first range, and 40 ms, which the logs show for later rounds, the second.
// No fixed time reproduces both.
TEST(LbbDisturbance, AsReleasedSeMatchesTheLogsOfThreeGpus) {
  const std::vector<Round> fifty = rotating(options_with_profile(lbb_as_released()), 1, 50, 3),
                           forty = rotating(options_with_profile(lbb_as_released()), 1, 40, 3);
  EXPECT_GT(effect(fifty, 0, 0), 0.39);
  EXPECT_LT(effect(fifty, 0, 0), 0.43);
  EXPECT_GT(effect(forty, 0, 1), 0.04);
  EXPECT_LT(effect(forty, 0, 1), 0.08);
}

}  // namespace
}  // namespace steelyard::balancing::lbb_disturbance_test
