#include "balancing/predict/rnn.h"

#include <gtest/gtest.h>

#include <cmath>

#include "balancing/predict/predictors.h"
#include "core/random.h"

namespace steelyard::balancing::rnn_test {
namespace {

struct Moment {
  double value, cpu;
};

double rmse(const std::string& name, const std::vector<Moment>& trace) {
  const std::unique_ptr<Predictor> predictor = make_predictor(name, 1);
  double squares = 0;
  constexpr std::size_t warm_up = 200;
  for (std::size_t k = 0; k < trace.size(); ++k) {
    if (k >= warm_up) squares += std::pow(predictor->predict(trace[k].cpu, -1) - trace[k].value, 2);
    predictor->observe(trace[k].value, trace[k].cpu, -1);
  }
  return std::sqrt(squares / static_cast<double>(trace.size() - warm_up));
}

// A co-tenant comes and goes: the CPU share is known at the start of the round and determines its speed.
TEST(Rnn, LearnsFromTheCpuShare) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    std::vector<Moment> trace;
    double cpu = 0.9;
    for (int k = 0; k < 1000; ++k) {
      if (random.below(6) == 0) cpu = 0.25 + 0.7 * random.uniform();
      trace.push_back({400 * cpu * (1 + 0.03 * random.normal()), cpu});
    }
    const double rnn = rmse("rnn", trace);
    EXPECT_LT(rnn, 0.75 * rmse("last", trace)) << "seed " << seed;
    EXPECT_LT(rnn, 0.75 * rmse("ema", trace)) << "seed " << seed;
  }
}

// A pattern that only past values show: high, high, low, low.
TEST(Rnn, LearnsAPeriodicPattern) {
  Random random(3);
  std::vector<Moment> trace;
  for (int k = 0; k < 1500; ++k)
    trace.push_back({(k % 4 < 2 ? 400 : 200) * (1 + 0.02 * random.normal()), -1});
  EXPECT_LT(rmse("rnn", trace), 0.6 * rmse("last", trace));
  EXPECT_LT(rmse("rnn", trace), 0.6 * rmse("ema", trace));
}

TEST(Rnn, IsNeverMuchWorseThanEmaOnNoise) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    std::vector<Moment> trace;
    for (int k = 0; k < 1000; ++k) trace.push_back({400 * (1 + 0.05 * random.normal()), 0.9});
    EXPECT_LT(rmse("rnn", trace), 1.05 * rmse("ema", trace)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace steelyard::balancing::rnn_test
