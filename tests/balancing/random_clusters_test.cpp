// `steelyard` on clusters that nobody chose: drawn at random, static and with one disturbance. What a handful
// of patterns does not show is shown by these: many workers to leave out, fixed costs above all else, late
// joins.
#include <gtest/gtest.h>

#include <cmath>

#include "balancing/policies.h"
#include "core/random.h"
#include "tests/balancing/arena.h"

namespace steelyard::balancing::arena {
namespace {

constexpr std::uint64_t clusters = 96;

double one_of(Random& random, const std::vector<double>& values) {
  return values[random.below(values.size())];
}

Scenario some_cluster(std::uint64_t draw) {
  Random random(hash(77, draw));
  const auto workers = static_cast<std::uint64_t>(one_of(random, {2, 3, 4, 6, 8, 12, 16}));
  const auto positions = static_cast<std::uint64_t>(one_of(random, {128, 256, 512, 1024, 2048}));
  const double unlike = one_of(random, {1, 2, 4, 8}), per_sample = one_of(random, {0.02, 0.1, 0.5, 1, 3});
  const double fixed = one_of(random, {0, 2, 10, 30}), noise = one_of(random, {0, 0.01, 0.02, 0.05});
  std::vector<Machine> machines;
  for (std::uint64_t i = 0; i < workers; ++i) {
    machines.push_back(
        {{fixed * std::pow(unlike, random.uniform()), per_sample * std::pow(unlike, random.uniform())},
         random.below(2) == 0 ? "cpu" : "gpu",
         noise});
  }
  Scenario scenario("cluster " + std::to_string(draw), std::max(positions, 16 * workers), 300, machines,
                    draw);
  scenario.exchange_ms = one_of(random, {0, 1, 10, 50, 95});
  return scenario;
}

void disturb(Scenario& scenario, std::uint64_t draw) {
  const auto worker = static_cast<std::uint32_t>(hash(draw, 1) % scenario.size());
  const double factor = 1.5 + 1.5 * unit(hash(draw, 2));
  switch (draw % 7) {
    case 0:
      scenario.scale(worker, 100, 220, factor);
      break;
    case 1:
      scenario.ramp(worker, 50, 200, factor);
      break;
    case 2:
      scenario.periodic(worker, 40, 80, 40, factor);
      break;
    case 3:
      scenario.bursts(worker, 40, 30, factor);
      break;
    case 4:
      scenario.random_walk(worker, 0.02, 0.5, 3);
      break;
    case 5:
      scenario.kill(worker, 100);
      break;
    default:
      scenario.join(worker, 100);
  }
}

struct Reached {
  double worst = 200, mean = 0, over_alone = 0;  // percent of ideal; time over that of the best single device
};

Reached reached_by(bool disturbed) {
  Reached reached;
  for (std::uint64_t draw = 0; draw < clusters; ++draw) {
    Scenario scenario = some_cluster(draw);
    if (disturbed) disturb(scenario, draw);
    const auto policy = make_policy("steelyard");
    Oracle oracle(scenario.truth());
    const double ours = total_ms(play(scenario, *policy));
    const double percent = 100 * total_ms(play(scenario, oracle)) / ours;
    reached.worst = std::min(reached.worst, percent);
    reached.mean += percent / static_cast<double>(clusters);
    reached.over_alone = std::max(reached.over_alone, ours / best_single_ms(scenario));
  }
  return reached;
}

// A few percent of three hundred rounds are what it costs not to know in the first that most workers only
// delay.
TEST(RandomClusters, Static) {
  const Reached reached = reached_by(false);
  EXPECT_GE(reached.mean, 99.3);
  EXPECT_GE(reached.worst, 95);
  EXPECT_LE(reached.over_alone, 1.03);
}

TEST(RandomClusters, WithOneDisturbance) {
  const Reached reached = reached_by(true);
  EXPECT_GE(reached.mean, 98.7);
  EXPECT_GE(reached.worst, 93);
  EXPECT_LE(reached.over_alone, 1.03);
}

}  // namespace
}  // namespace steelyard::balancing::arena
