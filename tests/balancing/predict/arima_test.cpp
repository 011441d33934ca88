#include "balancing/predict/arima.h"

#include <gtest/gtest.h>

#include <cmath>

#include "balancing/predict/predictors.h"
#include "core/random.h"

namespace steelyard::balancing::arima_test {
namespace {

double rmse(const std::string& name, const std::vector<double>& trace) {
  const std::unique_ptr<Predictor> predictor = make_predictor(name, 1);
  double squares = 0;
  for (std::size_t k = 0; k < trace.size(); ++k) {
    if (k >= 64) squares += std::pow(predictor->predict(-1, -1) - trace[k], 2);
    predictor->observe(trace[k], -1, -1);
  }
  return std::sqrt(squares / static_cast<double>(trace.size() - 64));
}

// The differences follow y(k) = 0.7 y(k-1) + e(k), as in the model of the header. The best possible error is
// the standard deviation of e, 1 here.
TEST(Arima, LearnsAnAutoregressionOfDifferences) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    std::vector<double> trace;
    double value = 500, step = 0;
    for (int k = 0; k < 800; ++k) {
      step = 0.7 * step + random.normal();
      value += step - 0.01 * (value - 500);
      trace.push_back(value);
    }
    EXPECT_LT(rmse("arima", trace), 1.15) << "seed " << seed;
    EXPECT_LT(rmse("arima", trace), 0.9 * rmse("last", trace)) << "seed " << seed;
    EXPECT_LT(rmse("arima", trace), 0.5 * rmse("ema", trace)) << "seed " << seed;
  }
}

TEST(Arima, FollowsARamp) {
  Arima arima;
  for (int k = 0; k < 60; ++k) arima.observe(100 + 2 * k, -1, -1);
  EXPECT_NEAR(arima.predict(-1, -1), 220, 0.5);
}

// On white noise it should find phi near -1/2: its error is less than that of the last value, which is
// sqrt(2) times the standard deviation.
TEST(Arima, BeatsTheLastValueOnWhiteNoise) {
  Random random(4);
  std::vector<double> trace;
  for (int k = 0; k < 800; ++k) trace.push_back(400 * (1 + 0.05 * random.normal()));
  EXPECT_LT(rmse("arima", trace), 0.9 * rmse("last", trace));
}

}  // namespace
}  // namespace steelyard::balancing::arima_test
