// `lb-bsp` with CPUs beside GPUs: the search moves samples between the GPUs and the group of all CPUs, and
// prediction divides the samples of that group.
#include <gmock/gmock.h>

#include "balancing/oracle.h"
#include "balancing/policy/lb_bsp.h"
#include "tests/balancing/arena.h"

namespace steelyard::balancing::lb_bsp_mixed_test {
namespace {

using arena::Machine;
using arena::Round;
using arena::Scenario;

constexpr std::uint32_t fast = 0, capped = 1, cpu_20 = 2, cpu_10 = 3, cpu_5 = 4, cpu_half = 5;

// The fast GPU has a flat time up to 80 samples; the other is half as fast, flat up to 60, and holds 64. The
// CPUs have 20, 10, 5 and 0.5 % of the speed of the fast GPU: one sample takes the last CPU longer than a
// round.
Scenario mixed(std::uint64_t last_round, double noise) {
  std::vector<Machine> machines{{{8, 0.4}, DeviceKind::gpu, noise}, {{9, 0.8}, DeviceKind::gpu, noise}};
  machines[fast].flat_ms = 40;
  machines[capped].flat_ms = 57, machines[capped].max_batch = 64;
  for (const double speed : {0.2, 0.1, 0.05, 0.005})
    machines.push_back({{0.2, 0.4 / speed}, DeviceKind::cpu, noise});
  Scenario scenario("", 256, last_round, machines, 3);
  scenario.network.step_ms = 10;
  return scenario;
}

std::uint64_t of_the_cpus(const Round& round) {
  return round.share(cpu_20) + round.share(cpu_10) + round.share(cpu_5) + round.share(cpu_half);
}

TEST(LbBspMixed, CpusAndGpusReachTheIdealTogether) {
  for (const double noise : {0.0, 0.02}) {
    const Scenario scenario = mixed(300, noise);
    LbBsp policy;
    Oracle oracle(scenario.truth());
    const std::vector<Round> rounds = arena::play(scenario, policy), ideal = arena::play(scenario, oracle);
    // From the second round on, the CPUs have shares proportional to their speed.
    for (std::size_t k = 1; k < rounds.size(); ++k) {
      const auto whole = static_cast<double>(of_the_cpus(rounds[k]));
      EXPECT_NEAR(static_cast<double>(rounds[k].share(cpu_20)), whole * 20 / 35.5, 3) << k;
      EXPECT_NEAR(static_cast<double>(rounds[k].share(cpu_5)), whole * 5 / 35.5, 2) << k;
    }
    EXPECT_EQ(rounds.back().share(cpu_half), 0u) << "with one sample it would be the straggler";
    // In the first round the GPUs were in their flat range and looked slow; the search corrects that.
    EXPECT_EQ(rounds.back().share(capped), 64u);
    EXPECT_GT(rounds.back().share(fast), rounds[1].share(fast) + 20);
    EXPECT_LT(of_the_cpus(rounds.back()), of_the_cpus(rounds[1]));
    EXPECT_GT(of_the_cpus(rounds.back()), 20u);
    EXPECT_LT(rounds.back().straggler_effect(), rounds[1].straggler_effect() / 2);
    EXPECT_GE(total_ms(ideal, 150) / total_ms(rounds, 150), 0.95) << "measured: 99.6 and 99.0 %";
  }
}

// Prediction reacts at once within the group of CPUs; the search would move samples step by step.
TEST(LbBspMixed, OtherCpusTakeOverFromASlowedCpu) {
  Scenario scenario = mixed(260, 0);
  scenario.scale(cpu_20, 200, 261, 4);
  LbBsp policy({.predictor = "last"});
  const std::vector<Round> rounds = arena::play(scenario, policy);
  const Round &before = rounds[198], &after = rounds[200];  // rounds 199 and 201
  ASSERT_GT(before.share(cpu_20), 20u);
  EXPECT_LT(after.share(cpu_20), before.share(cpu_20) / 2);
  EXPECT_GT(after.share(cpu_10), before.share(cpu_10));
  EXPECT_EQ(of_the_cpus(after), of_the_cpus(before));
  EXPECT_EQ(after.share(fast), before.share(fast));
  // The CPUs are slower as a group, so the search has moved some of their samples to the fast GPU.
  EXPECT_GT(rounds.back().share(fast), after.share(fast));
}

}  // namespace
}  // namespace steelyard::balancing::lb_bsp_mixed_test
