#include "tests/balancing/clusters.h"

#include <cmath>

#include "core/random.h"

namespace steelyard::balancing::arena {
namespace {

double one_of(Random& random, const std::vector<double>& values) {
  return values[random.below(values.size())];
}

double between(Random& random, double low, double high) {  // uniform in the logarithm
  return low * std::pow(high / low, random.uniform());
}

Scenario undisturbed(std::uint64_t draw) {
  Random random(hash(77, draw));
  const auto workers = static_cast<std::uint64_t>(one_of(random, {2, 3, 4, 6, 8, 12, 16}));
  const auto positions = static_cast<std::uint64_t>(one_of(random, {128, 256, 512, 1024, 2048}));
  const double unlike = one_of(random, {1, 2, 4, 8}), per_sample = one_of(random, {0.02, 0.1, 0.5, 1, 3});
  const double fixed = one_of(random, {0, 2, 10, 30}), noise = one_of(random, {0, 0.01, 0.02, 0.05});
  std::vector<Machine> machines;
  for (std::uint64_t i = 0; i < workers; ++i) {
    machines.push_back(
        {{fixed * std::pow(unlike, random.uniform()), per_sample * std::pow(unlike, random.uniform())},
         random.below(2) == 0 ? DeviceKind::cpu : DeviceKind::gpu,
         noise});
    machines.back().kind = machines.front().kind;  // mixed_cluster() draws clusters of both kinds
  }
  Scenario scenario("cluster " + std::to_string(draw), std::max(positions, 16 * workers), 300, machines,
                    draw);
  scenario.network.step_ms = one_of(random, {0, 1, 10, 50, 95});
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

}  // namespace

Scenario random_cluster(std::uint64_t draw, bool disturbed) {
  Scenario scenario = undisturbed(draw);
  if (disturbed) disturb(scenario, draw);
  return scenario;
}

Scenario mixed_cluster(std::uint64_t draw) {
  Random random(hash(78, draw));
  const std::uint64_t gpus = 1 + random.below(4), cpus = random.below(9);
  const double positions = one_of(random, {128, 256, 512, 1024}),
               noise = one_of(random, {0, 0.01, 0.02, 0.05});
  const double fastest = between(random, 0.05, 2);  // ms per sample
  std::vector<Machine> machines;
  for (std::uint64_t i = 0; i < gpus; ++i) {
    const double per_sample = fastest * (i == 0 ? 1 : between(random, 1, 5));
    Machine gpu({per_sample * between(random, 1, 32), per_sample}, DeviceKind::gpu, noise);
    gpu.flat_ms = gpu.time_ms[0] + per_sample * between(random, 2, std::min(128.0, positions));
    const bool others = cpus > 0 || i > 0;  // others can take the samples that it cannot hold
    if (others && random.below(2) == 0)
      gpu.max_batch = static_cast<std::uint64_t>(positions * between(random, 0.25, 0.95));
    machines.push_back(gpu);
  }
  for (std::uint64_t i = 0; i < cpus; ++i) {
    const double per_sample = fastest / between(random, 0.005, 0.2);
    machines.emplace_back(std::vector{per_sample * random.uniform(), per_sample}, DeviceKind::cpu, noise);
  }
  if (cpus == 0) machines[0].max_batch = 0;
  Scenario scenario("mixed " + std::to_string(draw), static_cast<std::uint64_t>(positions), 300, machines,
                    draw);
  scenario.network.step_ms = one_of(random, {0, 1, 10, 50});
  return scenario;
}

}  // namespace steelyard::balancing::arena
