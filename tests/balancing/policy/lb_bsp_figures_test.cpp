// Measurements by the authors of LB-BSP (Chen, Weng, Wang, Li, Li: SoCC 2020) that a re-implementation can be
// compared with.
//
// Their headlines cannot be compared: up to 54 % on EC2, 38.7 % on CPUs, twice as fast in 2018 and "even ASP
// is beaten" are best cases on clusters whose machines, times and batches are not public. The same holds for
// the errors of the predictors. Times per sample of the same authors' EC2 cluster are public, in R2SP
// (INFOCOM 2019).
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::lb_bsp_figures_test {
namespace {

// R2SP: on two K520, two K80 and four M60 at 2.335, 1.587 and 1.096 ms per sample, 128 samples each, adapted
// batches alone converge about 40 % sooner. Without fixed costs 1 - 1 / (2.335 mean speed) = 40.6 % of the
// compute time is saved. Tested with prediction (CPUs) and with search (GPUs).
TEST(LbBspFigures, SavesFortyPercentOnTheAuthorsEc2Cluster) {
  for (const auto& [kind, settled, within] :
       {std::tuple{DeviceKind::cpu, 3, 0.5}, std::tuple{DeviceKind::gpu, 400, 2.0}}) {
    std::vector<arena::Machine> machines;
    for (const double ms : {2.335, 2.335, 1.587, 1.587, 1.096, 1.096, 1.096, 1.096})
      machines.push_back({{0, ms}, kind, 0});
    const auto policy = make_policy("lb-bsp");
    const std::vector<arena::Round> rounds = arena::play({"", 8 * 128, 500, machines}, *policy);
    EXPECT_NEAR(rounds[0].ms, 128 * 2.335, 1e-6);
    for (auto k = static_cast<std::size_t>(settled); k < rounds.size(); ++k) {
      ASSERT_NEAR(100 * (1 - rounds[k].ms / rounds[0].ms), 40.6, within) << name(kind) << ", round " << k + 1;
    }
  }
}

// The survey of LB-BSP, DLB and LBB on its micro-cluster of four GPUs of different types: the fastest ends
// with far more samples, and all take equally long after some adjustments. The survey does not give the
// speeds; those here are from Table 2 of LBB.
TEST(LbBspFigures, TheFastestGetsFarMoreAndTimesEqualize) {
  const auto policy = make_policy("lb-bsp");
  const arena::Round last = arena::play({"", 512, 600, arena::lbb_table_2(0)}, *policy).back();
  EXPECT_GT(last.share(1), 6 * last.share(3));
  EXPECT_LT(last.straggler_effect(), 0.08);
}

}  // namespace
}  // namespace steelyard::balancing::lb_bsp_figures_test
