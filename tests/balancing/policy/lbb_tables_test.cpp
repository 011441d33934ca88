// The tables and figures of LBB (Yao, Liu, Gao: J. Supercomputing 2024), number by number, on the emulator
// through both columns of Table 2. Figure 4 was measured under other conditions and has its own emulator.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancing/allocate/min_max.h"
#include "balancing/cost/correlation.h"
#include "balancing/cost/curves.h"
#include "balancing/policy/equal.h"
#include "balancing/policy/lbb.h"
#include "core/random.h"
#include "core/text.h"
#include "tests/balancing/patterns.h"

namespace steelyard::balancing::lbb_tables_test {
namespace {

using testing::Each;

const std::vector<double> even_ms{81.81, 81.49, 85.39, 392.92};         // Table 2, SSGD
const std::vector<double> balanced_ms{104.94, 104.14, 103.46, 104.41};  // Table 2, balanced
// Table 3, profile based. The paper prints +1.20, -1.01, -0.52 and -6.52 %, and 37.60 ms for the last
// prediction; the first and third signs and that number contradict the other columns.
const std::vector<double> profile_error{-0.0120, -0.0101, 0.0052, -0.0652};
// Table 3, rapid based. The third error is printed as +0.41 %.
const std::vector<double> rapid_shares{165, 165, 160, 22}, rapid_ms{108.97, 109.66, 110.24, 92.06};
const std::vector<double> rapid_error{0.0384, 0.0530, 0.0655, -0.1183};

// Figure 4, seconds per epoch: SSGD, averaging once per epoch, LBB.
constexpr double ssgd_s = 62.44, once_s = 54.04, lbb_s = 22.12;

std::vector<Affine> lines() {
  std::vector<Affine> all;
  for (const arena::Machine& machine : arena::lbb_table_2(0))
    all.push_back({machine.time_ms[0], machine.time_ms[1]});
  return all;
}

// Profiles that deviate from the lines by the errors of Table 3.
std::vector<Affine> profiled() {
  std::vector<Affine> all = lines();
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].fixed *= 1 + profile_error[i], all[i].per_sample *= 1 + profile_error[i];
  }
  return all;
}

LbbOptions with_profile() {
  std::vector<Profile::Line> lines;
  for (const Affine& line : profiled())
    lines.push_back({"", {{line.fixed / 1000, line.per_sample / 1000, 0, 0}}});
  LbbOptions options;
  options.profile = Profile(lines);
  return options;
}

// Equation 4 on both columns of Table 2, and the saving of 73.3 % of compute time.
TEST(LbbTables, StragglerEffectsMatchTable2) {
  EXPECT_NEAR(relative_spread(even_ms), 1.94, 0.005);
  EXPECT_NEAR(relative_spread(balanced_ms), 0.014, 0.0005);
  EXPECT_NEAR(1 - std::ranges::max(balanced_ms) / std::ranges::max(even_ms), 0.733, 0.0005);
}

// Table 3: predictions equal the measured times of Table 2 times the errors, and the cluster's 104.02 ms is
// 0.87 % below its 104.94 ms.
TEST(LbbTables, ThePredictionsOfTable3FitTable2) {
  const std::vector<double> predicted{103.68, 103.09, 104.02, 97.60};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(balanced_ms[i] * (1 + profile_error[i]), predicted[i], 0.03) << i;
  }
  EXPECT_NEAR(std::ranges::max(predicted) / std::ranges::max(balanced_ms) - 1, -0.0087, 0.0001);
}

// Section 4: the Pearson and Spearman correlations of fit and time are above 0.99 for all workers. Profiles
// are made as in the released code: sizes 2^1 ... 2^8, nine times each, without the three longest and the
// three shortest; with 3 % noise, and one time in nine a third longer. They are compared at sizes in between,
// measured the same way, and at the balanced shares, where Table 3 is up to 7 % off.
TEST(LbbTables, FitsCorrelateWithTimesAsInThePaper) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto measured = [&](double batch) {
        std::vector<double> ms;
        for (int k = 0; k < 9; ++k)
          ms.push_back(lines()[i](batch) * (k == 4 ? 1.33 : 1) * (1 + 0.03 * random.normal()));
        std::ranges::sort(ms);
        return (ms[3] + ms[4] + ms[5]) / 3;
      };
      std::vector<TimedBatch> profile;
      for (double batch = 2; batch <= 256; batch *= 2) profile.push_back({batch, measured(batch)});
      const Cubic fit = fit_cubic(profile);
      std::vector<double> fitted, times;
      for (double batch = 12; batch <= 256; batch *= 1.4)
        fitted.push_back(fit(batch)), times.push_back(measured(batch));
      EXPECT_GT(pearson(fitted, times), 0.99) << "worker " << i << ", seed " << seed;
      EXPECT_GT(spearman(fitted, times), 0.99) << "worker " << i << ", seed " << seed;
      const std::vector<double> balanced{166, 167, 159, 20};
      EXPECT_NEAR(fit(balanced[i]) / lines()[i](balanced[i]), 1, 0.07) << "worker " << i << ", seed " << seed;
    }
  }
}

// Table 3, rapid based: three of the four errors are relative to Table 2 as well. The third, printed as
// +0.41 %, would be +6.55 %, so it must be relative to another measurement. So must the cluster's +0.50 %: at
// the printed split the emulator takes 109.75 ms, and 110.24 ms were predicted.
TEST(LbbTables, TheRapidPredictionsOfTable3FitTable2) {
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(rapid_ms[i] / balanced_ms[i] - 1, rapid_error[i], 0.0001) << i;
  }
  EXPECT_EQ(std::accumulate(rapid_shares.begin(), rapid_shares.end(), 0.0), 512);
  double cluster = 0;
  for (std::size_t i = 0; i < 4; ++i) cluster = std::max(cluster, lines()[i](rapid_shares[i]));
  EXPECT_NEAR(std::ranges::max(rapid_ms) / cluster - 1, 0.0050, 0.001);
}

// Table 3, profile based: 166/166/160/20, and each worker within 7 % of its predicted time.
TEST(LbbTables, TheProfileSplitsWithinThreeSamplesOfTable3) {
  Lbb policy(with_profile());
  const arena::Round first = arena::play({"", 512, 1, arena::lbb_table_2(0)}, policy).front();
  const std::vector<double> printed{166, 166, 160, 20};
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto share = static_cast<double>(first.share(i));
    EXPECT_NEAR(share, printed[i], 3) << i;
    EXPECT_NEAR(profiled()[i](share) / first.compute_ms[i], 1, 0.07) << i;
  }
  EXPECT_NEAR(first.ms, 109.75, 0.01);
}

// Alg. 2 and Table 3, rapid based: starting at 128 each, a line through the constant term of the profile and
// one measured time gives 165/165/160/22, and each worker is within 12 % of its prediction. SE is then below
// 0.15, and below 0.1 three rounds later.
TEST(LbbTables, TheRapidStepMatchesTable3) {
  LbbOptions options = with_profile();
  options.profiled_start = false;
  Lbb policy(options);
  const std::vector<arena::Round> rounds = arena::play({"", 512, 6, arena::lbb_table_2(0)}, policy);
  EXPECT_THAT(rounds[0].shares, Each(128u));
  std::vector<Affine> rapid;
  for (std::size_t i = 0; i < 4; ++i) {
    const double a0 = profiled()[i].fixed;
    rapid.push_back({a0, (rounds[0].compute_ms[i] - a0) / 128});
  }
  // The guard requires two rounds with this SE.
  EXPECT_EQ(rounds[2].shares, min_max(rapid, std::vector<Bound>(4, Bound{1, 512}), 512));
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(static_cast<double>(rounds[2].share(i)), rapid_shares[i], 3) << i;
    EXPECT_NEAR(rapid[i](static_cast<double>(rounds[2].share(i))) / rounds[2].compute_ms[i], 1, 0.12) << i;
  }
  EXPECT_LT(rounds[2].straggler_effect(), 0.15);
  EXPECT_LT(rounds[5].straggler_effect(), 0.1);
}

// The authors' log of 2023-02-23: after one outlier of 0.955 s the released code moved to [235, 223, 23, 31],
// with SE above 1 from then on. The emulator makes the same step to within 9 samples.
TEST(LbbTables, AsReleasedTheLoggedOutlierGivesTheLoggedSplit) {
  LbbOptions options = lbb_as_released();
  options.profile = with_profile().profile;
  Lbb policy(options);
  Request request{1, 512, {{.slot = 0}, {.slot = 1}, {.slot = 2}, {.slot = 3}}};
  const std::vector<std::uint64_t> shares = policy.plan(request);
  for (std::uint32_t i = 0; i < 4; ++i) {
    const double ms = i == 2 ? 955 : lines()[i](static_cast<double>(shares[i]));
    policy.observe({i, 1, shares[i], ms / 1000});
  }
  request.round = 2;
  const std::vector<std::uint64_t> ruined = policy.plan(request);
  const std::vector<double> logged{235, 223, 23, 31};
  std::vector<double> times;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto share = static_cast<double>(ruined[i]);
    EXPECT_NEAR(share, logged[i], 9) << i;
    times.push_back(lines()[i](share));
  }
  EXPECT_GT(relative_spread(times), 1);
}

// Figure 4, seconds per epoch of ResNet-18 on CIFAR-10: LBB saves 64.57 % over SSGD, 59.07 % over averaging
// once per epoch and 5.47 % over 2-soft synchronisation, which the abstract calls FlexRR; 120 epochs end
// within 3000 s (Fig. 6).
TEST(LbbTables, SavingsMatchFigure4) {
  const auto saving = [](double other) { return 100 * (1 - lbb_s / other); };
  EXPECT_NEAR(saving(ssgd_s), 64.57, 0.005);
  EXPECT_NEAR(saving(once_s), 59.07, 0.005);
  EXPECT_NEAR(saving(23.4), 5.47, 0.005);  // 2-soft
  EXPECT_NEAR(saving(39.57), 44.1, 0.05);  // 1-soft
  EXPECT_NEAR(saving(35.16), 37.1, 0.05);  // 4-soft
  EXPECT_NEAR(saving(57.45), 61.5, 0.05);  // Local SGD, H = 2, 4, 8
  EXPECT_NEAR(saving(55.35), 60.0, 0.05);
  EXPECT_NEAR(saving(54.55), 59.5, 0.05);
  EXPECT_LT(120 * lbb_s, 3000);
}

// The same with our own code, on lines through the times in the authors' logs for an epoch of 97 rounds: SSGD
// computes for 53.55 s and exchanges for 9.22 s, and LBB computes for 12.95 s with 168/168/160/16. The logs
// do not say which part of the time of the first three is a fixed cost, so the ratio is that of Table 2.
// Averaging once per epoch still waits for the slowest.
TEST(LbbTables, OurPolicySavesAsMuchAsFigure4) {
  constexpr double rounds = 97;
  const double even = 53550 / rounds, balanced = 12950 / rounds;
  std::vector<arena::Machine> machines = arena::lbb_table_2(0);
  const std::vector<double> logged{168, 168, 160};
  for (std::size_t i = 0; i < 3; ++i) {
    const double scale = balanced / lines()[i](logged[i]);
    for (double& term : machines[i].time_ms) term *= scale;
  }
  const double slope = (even - balanced) / (128 - 16);
  machines[3].time_ms = {balanced - 16 * slope, slope};

  std::vector<Profile::Line> profile;
  for (const arena::Machine& m : machines)
    profile.push_back({"", {{m.time_ms[0] / 1000, m.time_ms[1] / 1000, 0, 0}}});
  LbbOptions options;
  options.profile = Profile(profile);
  Lbb lbb(options);
  Equal equal;
  arena::Scenario epoch("", 512, 97, machines);
  epoch.network.step_ms = 9220 / rounds;
  const std::vector<arena::Round> ssgd = arena::play(epoch, equal), ours = arena::play(epoch, lbb);
  const double ssgd_ms = arena::total_ms(ssgd), ours_ms = arena::total_ms(ours);
  EXPECT_NEAR(ssgd_ms / 1000, ssgd_s, 0.01 * ssgd_s);
  EXPECT_NEAR(ours_ms / 1000, lbb_s, 0.01 * lbb_s);
  EXPECT_NEAR(100 * (1 - ours_ms / ssgd_ms), 64.57, 0.5);
  const double once_ms = ssgd_ms - (rounds - 1) * epoch.network.step_ms;
  EXPECT_NEAR(100 * (1 - ours_ms / once_ms), 59.07, 0.5);
}

}  // namespace
}  // namespace steelyard::balancing::lbb_tables_test
