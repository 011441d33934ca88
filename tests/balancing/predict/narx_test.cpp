#include "balancing/predict/narx.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "balancing/predict/predictors.h"
#include "core/random.h"

namespace steelyard::balancing::narx_test {
namespace {

struct Moment {
  double value, cpu, memory;
};
using Trace = std::vector<Moment>;

constexpr std::size_t kWarmUp = 64;  // rounds before errors count

double rmse(const std::string& name, const Trace& trace) {
  const std::unique_ptr<Predictor> predictor = make_predictor(name, 1);
  double squares = 0;
  for (std::size_t k = 0; k < trace.size(); ++k) {
    const Moment& now = trace[k];
    if (k >= kWarmUp) squares += std::pow(predictor->predict(now.cpu, now.memory) - now.value, 2);
    predictor->observe(now.value, now.cpu, now.memory);
  }
  return std::sqrt(squares / static_cast<double>(trace.size() - kWarmUp));
}

// A co-tenant comes and goes: the CPU share is known at the start of the round and determines its speed.
Trace led_by_cpu(std::uint64_t seed, double noise) {
  Random random(seed);
  Trace trace;
  double cpu = 0.9;
  for (int k = 0; k < 600; ++k) {
    if (random.below(6) == 0) cpu = 0.25 + 0.7 * random.uniform();
    const double seen = cpu + 0.01 * random.normal();
    trace.push_back({400 * cpu * (1 + noise * random.normal()), seen, 4000 + 50 * random.normal()});
  }
  return trace;
}

Trace stationary(std::uint64_t seed, double noise) {
  Random random(seed);
  Trace trace;
  for (int k = 0; k < 600; ++k) {
    trace.push_back(
        {400 * (1 + noise * random.normal()), 0.9 + 0.02 * random.normal(), 4000 + 50 * random.normal()});
  }
  return trace;
}

// The reason for NARX in LB-BSP (Chen et al., SoCC 2020): the signal that drives the speed is known in
// advance.
TEST(Narx, BeatsLastAndEmaIfTheCpuShareLeads) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const Trace trace = led_by_cpu(seed, 0.03);
    const double narx = rmse("narx", trace);
    EXPECT_LT(narx, 0.5 * rmse("last", trace)) << "seed " << seed;
    EXPECT_LT(narx, 0.5 * rmse("ema", trace)) << "seed " << seed;
  }
}

// If there is nothing to learn, NARX costs almost nothing.
TEST(Narx, IsNeverMuchWorseThanEmaOnAStationaryTrace) {
  for (const double noise : {0.01, 0.05, 0.2}) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Trace trace = stationary(seed, noise);
      EXPECT_LT(rmse("narx", trace), 1.05 * rmse("ema", trace)) << "seed " << seed << ", noise " << noise;
    }
  }
}

TEST(Narx, TreatsMissingSignalsAsConstants) {
  Trace trace = stationary(3, 0.05);
  for (Moment& moment : trace) moment.cpu = moment.memory = -1;
  EXPECT_LT(rmse("narx", trace), 1.05 * rmse("ema", trace));
}

// An alternating speed shows only in the lagged values; an average does not see it.
TEST(Narx, LearnsFromPastValuesToo) {
  Random random(4);
  Trace trace;
  for (int k = 0; k < 600; ++k)
    trace.push_back({(k % 2 == 0 ? 300 : 500) * (1 + 0.02 * random.normal()), -1, -1});
  EXPECT_LT(rmse("narx", trace), 0.3 * rmse("ema", trace));
}

// At a level shift that no signal announces, the average takes over while the network learns.
TEST(Narx, SurvivesAnUnannouncedShift) {
  Random random(6);
  Trace trace;
  for (int k = 0; k < 600; ++k)
    trace.push_back({(k < 300 ? 400 : 100) * (1 + 0.03 * random.normal()), 0.9, 4000});
  EXPECT_LT(rmse("narx", trace), 1.25 * rmse("ema", trace));
}

// The better of the two simple predictions: of a constant with noise the average, after a lasting change the
// last value.
TEST(Narx, IsTheLastValueOrTheAverageUntilItHas32Values) {
  for (const bool changes : {false, true}) {
    Random random(7);
    Narx narx(1);
    Ema ema;
    double last = 0;
    for (int k = 0; k < 32; ++k) {
      if (k > 20) {
        const double average = std::clamp(ema.predict(-1, -1), 0.25 * last, 4 * last);
        ASSERT_EQ(narx.predict(0.3, 4000), changes ? last : average) << "value " << k;
      }
      last = (changes && k >= 10 ? 100 : 400) * (1 + 0.03 * random.normal());
      narx.observe(last, 0.1 * (k % 10), 4000);
      ema.observe(last, -1, -1);
    }
  }
}

// Rounds in which a co-tenant arrives are slow without a warning; they must not make the others look slow.
TEST(Narx, OutliersDoNotSpoilTheOtherPredictions) {
  Random random(8);
  Narx narx(1);
  double squares = 0;
  int count = 0;
  for (int k = 0; k < 600; ++k) {
    const double cpu = random.below(2) == 0 ? 0.5 : 1, speed = 400 * cpu * (1 + 0.03 * random.normal());
    const bool struck = random.below(8) == 0;
    if (k >= 300 && !struck) squares += std::pow(narx.predict(cpu, -1) / (400 * cpu) - 1, 2), ++count;
    narx.observe(struck ? speed / 2 : speed, cpu, -1);
  }
  EXPECT_LT(std::sqrt(squares / count), 0.08);
}

}  // namespace
}  // namespace steelyard::balancing::narx_test
