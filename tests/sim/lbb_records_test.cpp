// The recorded runs of LBB (Yao, Liu, Gao: J. Supercomputing 2024; logs published by the authors), epoch by
// epoch through the simulator: 97 rounds of 512 on four GPUs, in seconds of compute and exchange.
//
// Each GPU is a line through its logged times at 128 samples and at the logged split 168/168/160/16. The logs
// do not say which part of the time of the first three is a fixed cost, so the ratio is that of Table 2. The
// models (ResNet-18, ViT, EfficientNet and ShuffleNet on CIFAR) are not trained, so accuracies are not
// compared.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "sim/simulation.h"
#include "tests/sim/made_scenarios.h"

namespace steelyard::sim::lbb_records_test {
namespace {

constexpr double rounds = 97;
const std::vector<double> logged{168, 168, 160, 16};

struct Recorded {
  std::string task;
  double even, even_exchange, balanced, balanced_exchange;  // seconds per epoch: SSGD, then LBB
  double saving;                                            // percent
};

const std::vector<Recorded> records{
    {"ResNet-18, CIFAR-10", 53.55, 9.22, 12.95, 9.73, 63.9},
    {"ViT, CIFAR-10", 71.35, 7.44, 18.83, 7.48, 66.6},
    {"EfficientNet, CIFAR-10", 55.30, 8.45, 13.41, 8.40, 65.8},
    {"ShuffleNet, CIFAR-10", 30.20, 6.18, 8.10, 6.16, 60.8},
    {"ResNet-18, CIFAR-100", 53.58, 9.68, 13.05, 9.70, 64.0},
    {"ViT, CIFAR-100", 71.21, 7.92, 18.97, 7.90, 66.0},
    {"EfficientNet, CIFAR-100", 55.27, 8.47, 13.42, 8.39, 65.8},
    {"ShuffleNet, CIFAR-100", 30.22, 6.22, 8.14, 6.18, 60.7},
};

Scenario epochs(const Recorded& record, const std::string& policy, double exchange_s, std::uint64_t count) {
  const double even = 1000 * record.even / rounds, balanced = 1000 * record.balanced / rounds;
  std::vector<std::vector<double>> curves;
  for (std::size_t i = 0; i < 3; ++i) {
    const Device device = lbb_table_2("equal").workers[i];
    const double scale = balanced / device.own_ms(logged[i]);
    curves.push_back({scale * device.time_ms[0], scale * device.time_ms[1]});
  }
  const double slope = (even - balanced) / (128 - logged[3]);
  curves.push_back({balanced - logged[3] * slope, slope});
  Scenario scenario = made(512, curves, policy);
  scenario.rounds = 0;
  scenario.epochs = count;
  scenario.samples_per_epoch = 97 * 512;
  scenario.network.step_ms = 1000 * exchange_s / rounds;
  return scenario;
}

// Seconds per epoch.
double seconds_of(const Scenario& scenario) {
  return simulate(scenario, 1.0).total_s() / static_cast<double>(scenario.epochs);
}

// Eight runs of the policy without a profile: it must find the split. They last 30 epochs, so that the first
// few rounds weigh as little as in the authors' 120 epochs.
TEST(LbbRecords, SavingsMatchTheEightRecordedRuns) {
  for (const Recorded& record : records) {
    const double ssgd = seconds_of(epochs(record, "equal", record.even_exchange, 1));
    const Result lbb = simulate(epochs(record, "lbb", record.balanced_exchange, 30), 1.0);
    const double ours = lbb.total_s() / 30;
    EXPECT_NEAR(ssgd, record.even + record.even_exchange, 0.01) << record.task;
    EXPECT_NEAR(ours / (record.balanced + record.balanced_exchange), 1, 0.01) << record.task;
    EXPECT_NEAR(100 * (1 - ours / ssgd), record.saving, 0.3) << record.task;
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(static_cast<double>(lbb.last_full().shares[i]), logged[i], 3) << record.task << ", " << i;
    }
  }
}

// Figure 4, Local SGD and averaging once per epoch with equal shares: they save exchanges but no waiting
// time. Figure 6 shows 120 such epochs.
TEST(LbbRecords, EpochTimesOfSyncModesMatchFigure4) {
  const std::vector<std::pair<std::string, double>> figure{
      {"bsp", 62.44}, {"local:2", 57.45}, {"local:4", 55.35}, {"local:8", 54.55}, {"oneshot:epoch", 54.04}};
  for (const auto& [sync, printed] : figure) {
    Scenario scenario = epochs(records[0], "equal", records[0].even_exchange, 1);
    scenario.sync = sync;
    EXPECT_NEAR(seconds_of(scenario) / printed, 1, 0.015) << sync;
  }
}

// The cubics that the authors published beside their logs (warmupRecord/batchVStime1.csv), fitted to batches
// of 2 to 129: they decrease beyond 217 to 224, the M40's beyond 175.
Scenario published_cubics(const std::string& sync = "bsp") {
  Scenario scenario = made(512, {{8.04397, 0.786382, 1.97117e-4, -5.84948e-6},
                                 {8.34252, 0.770366, 4.01887e-4, -6.72254e-6},
                                 {9.72166, 0.708865, 2.433624e-3, -1.699315e-5},
                                 {40.30322, 4.946571, -4.814191e-3, -1.851803e-5}});
  scenario.rounds = 97;
  scenario.samples_per_epoch = 97 * 512;
  scenario.network.step_ms = 97;
  for (Device& device : scenario.workers) device.max_batch = 190;
  scenario.sync = sync;
  return scenario;
}

// An epoch takes 62.44 s under SSGD and 22.12 s under LBB in Figure 4, and 63.3 and 22.2 s here.
TEST(LbbRecords, ThePublishedCubicsGiveTheEpochTimesOfFigure4) {
  Scenario scenario = published_cubics();
  const double equal = simulate(scenario, 1.0).total_s();
  EXPECT_GT(equal, 61.5);
  EXPECT_LT(equal, 65.5);
  ASSERT_EQ(notes_on(scenario).size(), 1U) << "only 'c' has its peak below max_batch";
  EXPECT_EQ(notes_on(scenario)[0].substr(0, 54), "worker 'c': time_ms falls beyond a batch of 175: large");
  for (const std::string policy : {"lbb", "steelyard"}) {
    scenario.policy = policy;
    EXPECT_NEAR(simulate(scenario, 1.0).total_s(), 22.12, 1) << policy << ": LBB in the same figure";
  }
}

// Figure 4, k-soft: 39.57, 23.4 and 35.16 s for 391 / k updates. The authors' program waits until k of the
// four gradients are ready and applies only the first; the update takes the time of one server
// (docs/decisions/56-k-soft-in-lbb.md). The simulation lasts for all samples, which are k times as many
// updates.
TEST(LbbRecords, TheTimesOfKSoftMatchFigure4) {
  for (const auto& [k, printed] : {std::pair(1, 39.57), {2, 23.4}, {4, 35.16}}) {
    Scenario scenario = published_cubics("ksoft-wait:" + std::to_string(k) + ":first");
    scenario.server_times.push_ms = 86;
    EXPECT_NEAR(simulate(scenario, 1.0).total_s() / k / printed, 1, 0.15) << k;
  }
}

// If each update waited for the gradients of all four workers, 4-soft could not take less than 97 times the
// slowest worker's 556 ms, however fast the server is.
TEST(LbbRecords, FourSoftIsFasterThanWaitingForFourGradients) {
  EXPECT_GT(simulate(published_cubics("ksoft-wait:4"), 1.0).total_s(), 1.5 * 35.16);
}

// The authors normalise each GPU's whole share, so a share may have 20 samples. A grain of 32, the default of
// models with batch norm, cannot: the last GPU then has 32 and saves ten points less.
TEST(LbbRecords, TheSavingOfFigure4NeedsAGrainOfOne) {
  Scenario scenario = published_cubics();
  const auto saving = [&](std::uint32_t grain) {
    scenario.grain = grain;
    scenario.policy = "equal";
    const double equal = simulate(scenario, 1.0).total_s();
    scenario.policy = "lbb";
    const Result lbb = simulate(scenario, 1.0);
    EXPECT_EQ(lbb.last_full().shares[3] % grain, 0U);
    return std::pair(100 * (1 - lbb.total_s() / equal), lbb.last_full().shares[3]);
  };
  EXPECT_NEAR(saving(1).first, 64.6, 1);
  EXPECT_LT(saving(1).second, 24U);
  EXPECT_NEAR(saving(32).first, 54, 1);
  EXPECT_EQ(saving(32).second, 32U);
}

// The static split of LBB under Local SGD: 17.9 s at H = 4, 15.2 at 8, and 13.3 with one average per epoch.
// The logs of Local SGD count H + 1 steps of compute for H steps, so the test adds one step to each. They fit
// 12.5 (1 + 1 / H) + 9.1 / H, while the run without Local SGD took 12.95 and 9.73 s: hence the 5 % tolerance.
TEST(LbbRecords, TheGainsOfBalanceAndRareAveragingAdd) {
  const Recorded& record = records[0];
  const std::vector<std::tuple<std::string, double, double>> runs{
      {"local:4", 4, 17.9}, {"local:8", 8, 15.2}, {"oneshot:epoch", 97, 13.3}};
  double before = seconds_of(epochs(record, "lbb", record.balanced_exchange, 30));
  for (const auto& [sync, steps, recorded] : runs) {
    Scenario scenario = epochs(record, "static", record.balanced_exchange, 1);
    scenario.policy_options["static"]["speeds"] = "168 168 160 16";
    scenario.sync = sync;
    const Result result = simulate(scenario, 1.0);
    double compute = 0;
    for (const RoundResult& round : result.rounds) compute += std::ranges::max(round.compute_ms) / 1000;
    EXPECT_NEAR((result.total_s() + compute / steps) / recorded, 1, 0.05) << sync;
    EXPECT_LT(result.total_s(), before) << sync;
    before = result.total_s();
  }
}

}  // namespace
}  // namespace steelyard::sim::lbb_records_test
