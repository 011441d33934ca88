#include "balancing/predict/tanh_network.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace steelyard::balancing::tanh_network_test {
namespace {

constexpr std::size_t kBatch = 16;

// Trains on random points of [-1, 1]^2 and returns the root mean square error on fresh ones.
template <class Function>
double error_after(int steps, Function truth) {
  TanhNetwork network(2, 8, 1);
  Random random(2);
  const auto draw = [&] { return 2 * random.uniform() - 1; };
  for (int step = 0; step < steps; ++step) {
    std::array<double, 2 * kBatch> x;
    std::array<double, kBatch> y;
    for (std::size_t i = 0; i < kBatch; ++i) {
      x[2 * i] = draw(), x[2 * i + 1] = draw();
      y[i] = truth(x[2 * i], x[2 * i + 1]);
    }
    network.learn(x, y, {.rate = 0.01, .decay = 0.01});
  }
  double squares = 0;
  for (int i = 0; i < 200; ++i) {
    const std::array<double, 2> x{draw(), draw()};
    squares += std::pow(network(x) - truth(x[0], x[1]), 2);
  }
  return std::sqrt(squares / 200);
}

TEST(TanhNetwork, ReturnsZeroUntilTrained) {
  const TanhNetwork network(3, 8, 7);
  EXPECT_EQ(network(std::array{0.3, -2.0, 5.0}), 0);
}

TEST(TanhNetwork, LearnsALine) {
  EXPECT_LT(error_after(1500, [](double a, double b) { return 0.5 + a - 2 * b; }), 0.05);
}

TEST(TanhNetwork, LearnsAProduct) {
  const auto product = [](double a, double b) { return 2 * a * b; };
  EXPECT_GT(error_after(0, product), 0.5);
  EXPECT_LT(error_after(4000, product), 0.1);
}

// Checks the gradient of one step: the first Adam step moves every relevant parameter against the sign of its
// derivative, so a step on one point must reduce the error there.
TEST(TanhNetwork, AStepOnOnePointReducesTheError) {
  for (const double target : {3.0, -3.0}) {
    TanhNetwork network(2, 4, 3);
    const std::array<double, 2> x{0.4, -0.7};
    double distance = std::abs(network(x) - target);
    for (int step = 0; step < 50; ++step) {
      network.learn(x, std::array{target}, {.rate = 0.01, .decay = 0});
      const double now = std::abs(network(x) - target);
      ASSERT_LT(now, distance) << "step " << step;
      distance = now;
    }
  }
}

TEST(TanhNetwork, TheSeedDeterminesTheInitialState) {
  const auto trained = [](std::uint64_t seed) {
    TanhNetwork network(2, 4, seed);
    network.learn(std::array{0.4, -0.7}, std::array{1.0}, {});
    return network(std::array{0.1, 0.2});
  };
  EXPECT_EQ(trained(1), trained(1));
  EXPECT_NE(trained(1), trained(2));
}

TEST(TanhNetwork, StateOfAnotherSizeIsRefused) {
  StateWriter writer("test");
  writer(TanhNetwork(2, 4, 1));
  StateReader reader(writer.str(), "test");
  TanhNetwork larger(2, 5, 1);
  EXPECT_THROW(reader(larger), Failure);
}

}  // namespace
}  // namespace steelyard::balancing::tanh_network_test
