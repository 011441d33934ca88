#include "balancing/policy/lb_bsp.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/cost/curves.h"
#include "balancing/predict/averages.h"
#include "core/error.h"
#include "core/random.h"
#include "core/text.h"

namespace steelyard::balancing::lb_bsp_test {
namespace {

using testing::Each;
using testing::ElementsAre;
using Shares = std::vector<std::uint64_t>;

Request request_of(std::uint64_t round, std::uint64_t positions, const std::vector<std::uint32_t>& slots) {
  Request request{round, positions, {}};
  for (const std::uint32_t slot : slots) request.workers.push_back({.slot = slot});
  return request;
}

// Seconds that the worker in a slot takes for a share in a round.
using Machine = std::function<double(std::uint32_t slot, std::uint64_t round, std::uint64_t share)>;

// Runs the policy for some rounds and returns the last plan.
Shares run(Policy& policy, const std::vector<std::uint32_t>& slots, std::uint64_t positions,
           std::uint64_t first, std::uint64_t rounds, const Machine& machine) {
  Shares shares;
  for (std::uint64_t round = first; round < first + rounds; ++round) {
    shares = policy.plan(request_of(round, positions, slots));
    for (std::size_t i = 0; i < slots.size(); ++i) {
      policy.observe({slots[i], round, shares[i], machine(slots[i], round, shares[i])});
    }
  }
  return shares;
}

Machine at_speeds(const std::vector<double>& speeds) {
  return [=](std::uint32_t slot, std::uint64_t, std::uint64_t share) {
    return static_cast<double>(share) / speeds[slot];
  };
}

TEST(LbBsp, TheFirstPlanIsEqual) {
  LbBsp policy;
  EXPECT_THAT(policy.plan(request_of(1, 512, {0, 1, 2, 3})), Each(128));
}

// LB-BSP (Chen et al., SoCC 2020), CPU clusters: t_i = x_i / v_i, so x_i = X v_i / sum v. One measurement of
// each worker is enough to reach 4:2:1.
TEST(LbBsp, ConvergesToSpeeds4To2To1) {
  LbBsp policy;
  EXPECT_THAT(run(policy, {0, 1, 2}, 700, 1, 2, at_speeds({400, 200, 100})), ElementsAre(400, 200, 100));
}

// R2SP (Chen et al., INFOCOM 2019), the same authors' EC2 cluster: ResNet-32 at 2.335, 1.587 and 1.096 ms per
// sample on K520, K80 and M60 takes equally long at batches of 1000, about 1500 and 2200, a ratio of
// 1 : 1.47 : 2.13.
TEST(LbBsp, MatchesTheBatchesOfTheAuthorsEc2Cluster) {
  LbBsp policy;
  const Shares shares = run(policy, {0, 1, 2}, 4700, 1, 3, at_speeds({1 / 2.335, 1 / 1.587, 1 / 1.096}));
  const std::vector<double> printed{1000, 1500, 2200}, ratio{1, 1.47, 2.13};
  for (std::size_t i = 0; i < 3; ++i) {
    const auto share = static_cast<double>(shares[i]);
    EXPECT_NEAR(share / printed[i], 1, 0.025) << i;
    EXPECT_NEAR(share / static_cast<double>(shares[0]), ratio[i], 0.006) << i;
  }
}

TEST(LbBsp, ConvergesUnderNoise) {
  for (const char* predictor : {"ema", "narx"}) {
    LbBsp policy({.predictor = predictor});
    Random random(3);
    const std::vector<double> speeds{400, 200, 100};
    std::vector<double> losses;
    for (std::uint64_t round = 1; round <= 200; ++round) {
      const Shares shares =
          run(policy, {0, 1, 2}, 700, round, 1, [&](std::uint32_t slot, std::uint64_t, std::uint64_t share) {
            return static_cast<double>(share) / speeds[slot] * (1 + 0.03 * random.normal());
          });
      double longest = 0;
      for (std::size_t i = 0; i < 3; ++i)
        longest = std::max(longest, static_cast<double>(shares[i]) / speeds[i]);
      if (round > 5) losses.push_back(longest - 1);  // the optimum takes one second
    }
    EXPECT_LT(mean(losses), 0.025) << predictor;
  }
}

// With a fixed cost, t = o + x / v, the measured speed depends on the share; equal times are still the fixed
// point.
TEST(LbBsp, ConvergesDespiteFixedCosts) {
  const std::vector<Affine> curves{{0.010, 0.0005}, {0.020, 0.001}, {0.050, 0.0027}};
  LbBsp policy;
  const Shares shares =
      run(policy, {0, 1, 2}, 512, 1, 60, [&](std::uint32_t slot, std::uint64_t, std::uint64_t share) {
        return curves[slot](static_cast<double>(share));
      });
  std::vector<double> times;
  for (std::size_t i = 0; i < 3; ++i) times.push_back(curves[i](static_cast<double>(shares[i])));
  EXPECT_LT(relative_spread(times), 0.03);
}

TEST(LbBsp, FollowsASlowedWorker) {
  LbBsp policy({.predictor = "last"});
  run(policy, {0, 1}, 300, 1, 10, at_speeds({200, 100}));
  EXPECT_THAT(run(policy, {0, 1}, 300, 11, 2, at_speeds({50, 100})), ElementsAre(100, 200));
}

// The leading signal: the worker reports before the round that it has lost most of its CPU, and immediately
// gets fewer samples.
TEST(LbBsp, NarxReactsToTheCpuShareBeforeTheRound) {
  LbBsp policy({.predictor = "narx"});
  Random random(5);
  double cpu = 1;
  for (std::uint64_t round = 1; round <= 300; ++round) {
    if (random.below(8) == 0) cpu = random.below(2) == 0 ? 1.0 : 0.4;
    Request request = request_of(round, 400, {0, 1});
    request.workers[0].cpu = cpu, request.workers[1].cpu = 1;
    const Shares shares = policy.plan(request);
    for (std::uint32_t i = 0; i < 2; ++i) {
      const double share = request.workers[i].cpu, samples = static_cast<double>(shares[i]);
      Sample sample{i, round, shares[i], samples / (200 * share)};
      sample.planned_cpu = share;
      policy.observe(sample);
    }
  }
  // 200 : 200 without the co-tenant, 80 : 200 with it; the plan must follow the share of the request.
  for (const auto& [share, expected] : {std::pair{1.0, 200.0}, std::pair{0.4, 400 * 80.0 / 280}}) {
    LbBsp what_if;
    what_if.restore(policy.save());
    Request request = request_of(301, 400, {0, 1});
    request.workers[0].cpu = share, request.workers[1].cpu = 1;
    EXPECT_NEAR(static_cast<double>(what_if.plan(request)[0]), expected, 20) << "cpu " << share;
  }
}

class CountingPredictor final : public Predictor {
 public:
  explicit CountingPredictor(int& count) : count_(count) {}
  void observe(double value, double cpu, double memory) override {
    ++count_;
    last_.observe(value, cpu, memory);
  }
  [[nodiscard]] double predict(double cpu, double memory) const override {
    return last_.predict(cpu, memory);
  }
  [[nodiscard]] std::string save() const override { return last_.save(); }
  void restore(const std::string& text) override { last_.restore(text); }

 private:
  int& count_;
  Last last_;
};

// The speeds of GPUs only start the search, so their predictors need no training.
TEST(LbBsp, ThePredictorIsTrainedForCpusOnly) {
  int count = 0;
  LbBspOptions options{.predictor = "counting"};
  options.own_predictors.push_back(
      {"counting", [&](std::uint64_t, const Options&) { return std::make_unique<CountingPredictor>(count); },
       ""});
  LbBsp policy(options);
  Request request = request_of(0, 300, {0, 1, 2});
  request.workers[0].kind = request.workers[1].kind = DeviceKind::gpu;
  for (request.round = 1; request.round <= 20; ++request.round) {
    const Shares shares = policy.plan(request);
    for (std::uint32_t i = 0; i < 3; ++i)
      policy.observe({i, request.round, shares[i], static_cast<double>(shares[i]) / 100});
  }
  EXPECT_EQ(count, 20) << "one sample of the CPU in each round";
}

TEST(LbBsp, ANewcomerCountsAsTheMeanOfTheOthers) {
  LbBsp policy;
  run(policy, {0, 1}, 400, 1, 5, at_speeds({300, 100, 999}));
  EXPECT_THAT(policy.plan(request_of(6, 600, {0, 1, 2})), ElementsAre(300, 100, 200));
  EXPECT_THAT(run(policy, {0, 1, 2}, 1399, 6, 2, at_speeds({300, 100, 999})), ElementsAre(300, 100, 999));
}

TEST(LbBsp, ForgetsWorkersThatLeft) {
  LbBsp policy;
  run(policy, {0, 1, 2}, 700, 1, 5, at_speeds({400, 200, 100}));
  EXPECT_THAT(policy.plan(request_of(6, 600, {0, 1})), ElementsAre(400, 200));
  // The slot may return as another machine, so its past is not used.
  EXPECT_THAT(policy.plan(request_of(7, 900, {0, 1, 2})), ElementsAre(400, 200, 300));
}

TEST(LbBsp, ShortRoundsKeepTheProportions) {
  LbBsp policy;
  run(policy, {0, 1, 2}, 700, 1, 5, at_speeds({400, 200, 100}));
  EXPECT_THAT(policy.plan(request_of(6, 70, {0, 1, 2})), ElementsAre(40, 20, 10));
  EXPECT_THAT(policy.plan(request_of(7, 2, {0, 1, 2})), ElementsAre(1, 1, 0));
  EXPECT_THAT(policy.plan(request_of(8, 700, {0, 1, 2})), ElementsAre(400, 200, 100));
}

TEST(LbBsp, BoundsAreRespected) {
  LbBsp policy;
  run(policy, {0, 1, 2}, 700, 1, 5, at_speeds({400, 200, 100}));
  Request request = request_of(6, 700, {0, 1, 2});
  request.workers[0].most = 250;
  EXPECT_THAT(policy.plan(request), ElementsAre(250, 300, 150));
  request.workers[2].least = 200;
  EXPECT_THAT(policy.plan(request), ElementsAre(250, 250, 200));
}

TEST(LbBsp, NoiseInsideTheDeadBandMovesNothing) {
  LbBsp policy({.predictor = "last"});
  run(policy, {0, 1}, 2000, 1, 3, at_speeds({1000, 1000}));
  // Times differ by 2 %, less than the dead band.
  EXPECT_THAT(run(policy, {0, 1}, 2000, 4, 8, at_speeds({1010, 990})), ElementsAre(1000, 1000));
  // Times differ by 4 %, more than the dead band.
  EXPECT_THAT(run(policy, {0, 1}, 2000, 12, 2, at_speeds({1020, 980})), ElementsAre(1020, 980));
}

TEST(LbBsp, ADifferenceWithinTheDeadBandIsCorrectedLater) {
  LbBsp policy({.predictor = "last"});
  run(policy, {0, 1}, 2000, 1, 3, at_speeds({1000, 1000}));
  EXPECT_THAT(run(policy, {0, 1}, 2000, 4, 18, at_speeds({1010, 990})), ElementsAre(1010, 990));
}

TEST(LbBsp, WithoutADeadBandEveryDifferenceMovesShares) {
  LbBsp policy({.predictor = "last", .dead_band = 0});
  EXPECT_THAT(run(policy, {0, 1}, 2000, 1, 2, at_speeds({1010, 990})), ElementsAre(1010, 990));
}

TEST(LbBsp, ImpossibleSamplesAreIgnored) {
  LbBsp policy;
  run(policy, {0, 1}, 300, 1, 5, at_speeds({200, 100}));
  const std::string before = policy.save();
  policy.observe({.slot = 0, .round = 6, .samples = 0, .seconds = 1});
  policy.observe({.slot = 0, .round = 6, .samples = 100, .seconds = 0});
  policy.observe({.slot = 0, .round = 6, .samples = 100, .seconds = -1});
  policy.observe({.slot = 0, .round = 6, .samples = 100, .seconds = 1e-300});
  policy.observe(
      {.slot = 0, .round = 6, .samples = 100, .seconds = std::numeric_limits<double>::quiet_NaN()});
  policy.observe({.slot = 9, .round = 6, .samples = 100, .seconds = std::numeric_limits<double>::infinity()});
  EXPECT_EQ(policy.save(), before);
}

TEST(LbBsp, AnUnknownPredictorIsRefused) { EXPECT_THROW(LbBsp({.predictor = "oracle"}), Failure); }

TEST(LbBsp, StateOfAnotherPredictorIsRefused) {
  LbBsp ema({.predictor = "ema"}), narx({.predictor = "narx"});
  ema.observe({.slot = 0, .round = 1, .samples = 10, .seconds = 1});
  EXPECT_THROW(narx.restore(ema.save()), Failure);
}

}  // namespace
}  // namespace steelyard::balancing::lb_bsp_test
