// Qualitative results of DLB (Ye, Zhou, Shi, Sun, Lv: TETCI 2023), whose percentages are not public, and edge
// cases that the papers leave open.
#include <gmock/gmock.h>

#include <cmath>

#include "balancing/policy/dlb.h"
#include "balancing/policy/equal.h"
#include "tests/balancing/arena.h"

namespace steelyard::balancing::dlb_figures_test {
namespace {

using arena::Round;
using arena::Scenario;

constexpr std::uint64_t rounds = 20;  // per epoch

// The authors' unequal cluster: three of four workers share one GPU. Larger clusters repeat these four.
std::vector<arena::Machine> shared_gpus(std::size_t workers, double noise) {
  std::vector<arena::Machine> machines;
  for (std::size_t i = 0; i < workers; ++i)
    machines.push_back({{2, i % 4 == 3 ? 0.5 : 1.5}, DeviceKind::gpu, noise});
  return machines;
}

double epoch_ms(const std::vector<Round>& played, std::size_t epoch) {
  double sum = 0;
  for (std::size_t k = epoch * rounds; k < (epoch + 1) * rounds; ++k) sum += played[k].ms;
  return sum;
}

// Batch sizes leave the equal split after the first epoch and then stay nearly constant.
TEST(DlbFigures, SharesChangeOnceAndStayConstant) {
  Dlb dlb({.rounds = rounds});
  const std::vector<Round> played = arena::play({"", 512, 8 * rounds, shared_gpus(4, 0.03)}, dlb);
  EXPECT_THAT(played[rounds - 1].shares, testing::Each(128u));
  EXPECT_GT(played[rounds].share(3), 230u);
  for (std::size_t k = 2 * rounds; k < played.size(); ++k) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const auto settled = static_cast<double>(played[2 * rounds].share(i));
      EXPECT_NEAR(static_cast<double>(played[k].share(i)), settled, 0.04 * settled) << "round " << k + 1;
    }
  }
}

// Epochs are shorter than with equal shares; the larger the cluster, the less time is saved.
TEST(DlbFigures, LargerClustersSaveLessTime) {
  double before = INFINITY;
  for (const std::size_t workers : {4, 8, 16}) {
    const Scenario scenario("", 512, 4 * rounds, shared_gpus(workers, 0.03));
    Dlb dlb({.rounds = rounds});
    Equal equal;
    const double saved = epoch_ms(arena::play(scenario, equal), 3) - epoch_ms(arena::play(scenario, dlb), 3);
    EXPECT_GT(saved, 0) << workers;
    EXPECT_LT(saved, before) << workers;
    before = saved;
  }
}

// A worker without samples could never be measured again, so even one a thousand times slower keeps one.
TEST(DlbFigures, EveryWorkerKeepsASample) {
  Dlb dlb({.rounds = 1});
  const std::vector<Round> played = arena::play(
      {"",
       512,
       4,
       {{{0, 1}, DeviceKind::gpu, 0}, {{0, 1}, DeviceKind::gpu, 0}, {{0, 2000}, DeviceKind::gpu, 0}}},
      dlb);
  EXPECT_EQ(played.back().share(2), 1u);
}

// A zero or missing time gives no speed, so the worker counts as the mean of the others.
TEST(DlbFigures, AWorkerWithAZeroTimeCountsAsTheMean) {
  Dlb dlb({.rounds = 1});
  Request request{1, 300, {{.slot = 0}, {.slot = 1}, {.slot = 2}}};
  dlb.plan(request);
  dlb.observe({0, 1, 100, 1.0}), dlb.observe({1, 1, 100, 0.5}), dlb.observe({2, 1, 100, 0.0});
  request.round = 2;
  EXPECT_THAT(dlb.plan(request), testing::ElementsAre(67, 133, 100));
}

}  // namespace
}  // namespace steelyard::balancing::dlb_figures_test
