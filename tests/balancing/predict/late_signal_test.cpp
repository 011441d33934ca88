// A CPU share known one round late (sim::Readings::late): trained and asked with the share of the round
// before. LB-BSP (Chen et al., SoCC 2020) has it in time; narx_test.cpp tests that case.
#include <gtest/gtest.h>

#include <cmath>

#include "balancing/predict/predictors.h"
#include "core/random.h"

namespace steelyard::balancing::late_signal_test {
namespace {

// Root mean square error with a co-tenant that comes or goes every dozen rounds.
double rmse(const std::string& name, std::uint64_t seed, bool late) {
  const std::unique_ptr<Predictor> predictor = make_predictor(name, 1);
  Random random(seed);
  double squares = 0, cpu = 0.9;
  constexpr int warm_up = 64, length = 800;
  for (int k = 0; k < length; ++k) {
    const double before = cpu;
    if (random.below(12) == 0) cpu = 0.25 + 0.7 * random.uniform();
    const double speed = 400 * cpu * (1 + 0.03 * random.normal());
    const double known = late ? before : cpu;
    if (k >= warm_up) squares += std::pow(predictor->predict(known, -1) - speed, 2);
    predictor->observe(speed, known, -1);
  }
  return std::sqrt(squares / (length - warm_up));
}

// A late signal adds almost nothing to the last speed, and does no harm.
TEST(LateSignals, NarxIsAsGoodAsTheLastValue) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const double last = rmse("last", seed, true);
    EXPECT_LT(rmse("narx", seed, false), 0.5 * last) << "seed " << seed;
    EXPECT_NEAR(rmse("narx", seed, true) / last, 1, 0.1) << "seed " << seed;
  }
}

TEST(LateSignals, NarxBeatsAnAverage) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    EXPECT_LT(rmse("narx", seed, true), 0.9 * rmse("ema", seed, true)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace steelyard::balancing::late_signal_test
