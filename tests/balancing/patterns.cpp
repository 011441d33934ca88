#include "tests/balancing/patterns.h"

namespace steelyard::balancing::arena {
namespace {

// Machines with these times per sample and one fixed cost, all in ms.
std::vector<Machine> machines(const std::vector<double>& per_sample, double fixed,
                              DeviceKind kind = DeviceKind::gpu, double noise = 0.02) {
  std::vector<Machine> all;
  for (const double ms : per_sample) all.push_back({{fixed, ms}, kind, noise});
  return all;
}

Scenario with_exchange(Scenario scenario, double ms) {
  scenario.network.step_ms = ms;
  return scenario;
}

const std::vector<double> four{0.5, 0.6, 1.0, 2.0};

}  // namespace

std::vector<Machine> lbb_table_2(double noise) {
  return {{{5.896, 0.59308}, DeviceKind::gpu, noise},
          {{7.151, 0.58077}, DeviceKind::gpu, noise},
          {{8.291, 0.60233}, DeviceKind::gpu, noise},
          {{50.982, 2.67139}, DeviceKind::gpu, noise}};
}

Scenario homogeneous(double noise, std::uint64_t seed) {
  return {"homogeneous", 1024, 300, machines(std::vector<double>(8, 0.8), 8, DeviceKind::gpu, noise),
          seed + 21};
}

std::vector<Scenario> static_patterns(std::uint64_t seed) {
  std::vector<Scenario> all;
  all.push_back(with_exchange({"lbb table 2", 512, 300, lbb_table_2(), seed + 1}, 95));
  // EC2-like: two K520, two K80, four M60, ms per sample of ResNet-32 (RRSP, INFOCOM 2019).
  all.emplace_back("ec2 mix", 1024, 300,
                   machines({2.335, 2.335, 1.587, 1.587, 1.096, 1.096, 1.096, 1.096}, 20), seed + 2);
  all.emplace_back("twenty to one", 512, 400, machines({0.3, 6.0}, 2), seed + 3);
  all.emplace_back("cpu speeds 4:2:1", 700, 300, machines({0.25, 0.5, 1.0}, 0, DeviceKind::cpu), seed + 4);
  all.emplace_back("noisy five percent", 800, 300,
                   machines({0.4, 0.8, 0.8, 1.6, 0.5, 0.9}, 10, DeviceKind::gpu, 0.05), seed + 5);
  std::vector<Machine> capped = lbb_table_2();
  capped[0].max_batch = 100;
  all.emplace_back("memory cap", 512, 300, capped, seed + 6);
  all.emplace_back("curved", 600, 300,
                   std::vector<Machine>{{{10, 0.4, 0.001}}, {{5, 0.7, 0, 2e-6}}, {{20, 0.3, 0.002}}},
                   seed + 7);
  // The third takes longer for one sample than the two others for the whole round.
  all.emplace_back("one better left out", 256, 400,
                   std::vector<Machine>{{{5, 0.5}}, {{5, 0.7}}, {{300, 0.5}}}, seed + 8);
  all.emplace_back("many small", 640, 300,
                   machines({1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.2, 2.4, 2.6, 2.8, 3, 3.5, 4}, 4),
                   seed + 9);
  return all;
}

std::vector<Scenario> slow_patterns(std::uint64_t seed) {
  std::vector<Scenario> all;
  const auto base = [&](const char* name, std::uint64_t draw) -> Scenario& {
    return all.emplace_back(name, 512, 400, machines(four, 10), seed + draw);
  };
  base("step up and down", 11).scale(0, 100, 250, 2.5);
  base("ramp", 12).ramp(1, 50, 200, 3);
  base("periodic, 40 rounds", 13).periodic(0, 40, 80, 40, 2);
  base("bursty, 30 rounds", 14).bursts(1, 40, 30, 2);
  base("random walk", 15).random_walk(0, 0.02, 0.5, 3).random_walk(2, 0.02, 0.5, 3);
  Scenario& rotating =
      all.emplace_back(with_exchange({"lbb figure 7", 512, 400, lbb_table_2(), seed + 16}, 95));
  for (std::uint64_t k = 0; k < 9; ++k) {
    const auto victim = static_cast<std::uint32_t>(k % 4);
    rotating.add(victim, 25 + 40 * k, 65 + 40 * k, 50);
  }
  base("killed and joined", 17).kill(1, 100).join(2, 200);
  Scenario& outliers = base("outliers", 18);
  for (std::uint32_t k = 20; k < 400; k += 23) outliers.outlier(k % 4, k, 4);
  all.emplace_back("co-tenant, seen, 30 rounds", 512, 400, machines(four, 5, DeviceKind::cpu, 0.03),
                   seed + 19)
      .co_tenant(0, 40, 30, 0.4)
      .co_tenant(2, 60, 30, 0.5);
  all.emplace_back("memory, seen, 30 rounds", 512, 400, machines(four, 5, DeviceKind::cpu, 0.03), seed + 20)
      .memory_tenant(0, 40, 30, 0.3, 2.5)
      .memory_tenant(2, 60, 30, 0.4, 2);
  all.emplace_back(with_exchange({"link, four times as slow", 512, 400, machines(four, 10), seed + 21}, 40))
      .link(1, 100, 220, 120);
  all.emplace_back(with_exchange({"link, eight times as slow", 512, 400, machines(four, 10), seed + 22}, 40))
      .link(2, 100, 200, 280);
  return all;
}

std::vector<Scenario> quick_patterns(std::uint64_t seed) {
  std::vector<Scenario> all;
  const auto base = [&](const char* name, std::uint64_t draw) -> Scenario& {
    return all.emplace_back(name, 512, 400, machines(four, 10), seed + draw);
  };
  base("periodic, 12 rounds", 31).periodic(0, 24, 24, 12, 2);
  base("bursty, 10 rounds", 32).bursts(1, 15, 10, 2);
  base("random walk, restless", 33).random_walk(0, 0.06, 0.5, 3).random_walk(1, 0.06, 0.5, 3);
  all.emplace_back("co-tenant, seen, 8 rounds", 512, 400, machines(four, 5, DeviceKind::cpu, 0.03), seed + 34)
      .co_tenant(0, 10, 8, 0.4)
      .co_tenant(1, 12, 8, 0.5);
  all.emplace_back("memory, seen, 8 rounds", 512, 400, machines(four, 5, DeviceKind::cpu, 0.03), seed + 35)
      .memory_tenant(0, 10, 8, 0.3, 2.5)
      .memory_tenant(1, 12, 8, 0.4, 2);
  return all;
}

// Modelled on a run of examples/jobs/quick.toml on a shared virtual machine with two cores: 0.2 ms per batch
// with a deviation of a third, and occasional pauses of ten to a hundred times as long.
std::vector<Scenario> restless_patterns(std::uint64_t seed) {
  struct Restless {
    double jitter, pause_chance, pause_ms, quantum_ms = 0;
  };
  const auto machines = [](const std::vector<double>& per_sample, Restless how) {
    std::vector<Machine> all;
    for (const double ms : per_sample) {
      Machine& machine = all.emplace_back(std::vector{0.01, ms}, DeviceKind::cpu);
      machine.jitter = how.jitter;
      machine.pause_chance = how.pause_chance;
      machine.pause_ms = how.pause_ms;
      machine.quantum_ms = ms > per_sample[0] ? how.quantum_ms : 0;
    }
    return all;
  };
  std::vector<Scenario> all;
  const auto add = [&](const char* name, std::vector<Machine> its_machines, std::uint64_t draw) {
    all.push_back(with_exchange({name, 256, 400, std::move(its_machines), seed + draw}, 1));
    all.back().warm_up(200);
  };
  const Restless usual{0.35, 0.01, 2};
  add("short rounds", machines({0.001, 0.003}, usual), 41);
  add("short rounds, nearly alike", machines({0.001, 0.0015}, usual), 42);
  add("short rounds, crowded", machines({0.001, 0.003}, {0.6, 0.05, 5}), 43);
  add("short rounds of four", machines({0.001, 0.002, 0.004, 0.008}, usual), 44);
  add("short rounds, asleep", machines({0.001, 0.003}, {0.35, 0.01, 2, 0.06}), 45);
  return all;
}

}  // namespace steelyard::balancing::arena
