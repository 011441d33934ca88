#include "tests/balancing/arena.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancing/policies.h"
#include "core/check.h"
#include "core/random.h"
#include "core/text.h"

namespace steelyard::balancing::arena {
namespace {

constexpr double machine_memory = 16'000;  // MB

// Additional exchange time (push and pull) of a slow link, in ms.
double link_ms(const Scenario& scenario, const sim::Devices& devices, std::uint32_t slot,
               std::uint64_t round) {
  return (devices.network(slot, round) - 1) * scenario.network.exchange_ms();
}

// Free memory varies by up to 1 %, with or without a co-tenant.
double memory_wander(const Scenario& scenario, std::uint32_t slot, std::uint64_t round) {
  return 1 - 0.01 * unit(hash(scenario.seed, 0x3E30, slot, round));
}

}  // namespace

Scenario::Scenario(std::string its_name, std::uint64_t positions, std::uint64_t last_round,
                   std::vector<Machine> machines, std::uint64_t its_seed) {
  name = std::move(its_name);
  global_batch = positions;
  epochs = 0;
  rounds = last_round + 1;
  seed = its_seed;
  workers.assign(machines.begin(), machines.end());
}

sim::Event& Scenario::disturb(std::uint32_t slot, std::uint64_t from, std::uint64_t to) {
  sim::Event& event = events.emplace_back();
  event.worker = slot;
  event.from = from;
  event.to = to;
  return event;
}

sim::Event& Scenario::tenant(std::uint32_t slot, double mean_gap, double mean_length) {
  sim::Event& event = disturb(slot, 1);
  event.shape = sim::Shape::bursty;
  event.mean_gap = mean_gap;
  event.mean_length = mean_length;
  event.draws = hash(seed, ++draws_);
  return event;
}

Scenario& Scenario::scale(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor) {
  disturb(slot, from, to).scale = factor;
  return *this;
}

Scenario& Scenario::add(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms) {
  disturb(slot, from, to).add_ms = ms;
  return *this;
}

Scenario& Scenario::ramp(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor) {
  sim::Event& event = disturb(slot, from, to);
  event.shape = sim::Shape::ramp;
  event.scale = factor;
  return *this;
}

Scenario& Scenario::periodic(std::uint32_t slot, std::uint64_t from, std::uint64_t period, std::uint64_t slow,
                             double factor) {
  sim::Event& event = disturb(slot, from);
  event.shape = sim::Shape::periodic;
  event.period = period;
  event.length = slow;
  event.scale = factor;
  return *this;
}

Scenario& Scenario::random_walk(std::uint32_t slot, double deviation, double lowest, double highest) {
  sim::Event& event = disturb(slot, 1);
  event.shape = sim::Shape::random_walk;
  event.deviation = deviation;
  event.lowest = lowest;
  event.highest = highest;
  event.draws = hash(seed, ++draws_);
  return *this;
}

Scenario& Scenario::bursts(std::uint32_t slot, double mean_gap, double mean_length, double factor) {
  tenant(slot, mean_gap, mean_length).scale = factor;
  return *this;
}

Scenario& Scenario::co_tenant(std::uint32_t slot, double mean_gap, double mean_length, double cpu) {
  tenant(slot, mean_gap, mean_length).cpu = cpu;
  return *this;
}

Scenario& Scenario::link(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms) {
  CHECK(network.exchange_ms() > 0, "a slow link needs an exchange time to scale");
  disturb(slot, from, to).network = 1 + ms / network.exchange_ms();
  return *this;
}

Scenario& Scenario::memory_tenant(std::uint32_t slot, double mean_gap, double mean_length, double left,
                                  double factor) {
  for (sim::Device& device : workers) device.memory_mb = device.kind == DeviceKind::cpu ? machine_memory : 0;
  sim::Event& event = tenant(slot, mean_gap, mean_length);
  event.memory = left;
  event.scale = factor;
  return *this;
}

Scenario& Scenario::outlier(std::uint32_t slot, std::uint64_t round, double factor) {
  sim::Event& event = disturb(slot, round, round + 1);
  event.scale = factor;
  event.unforeseen = true;
  return *this;
}

Scenario& Scenario::warm_up(double factor) {
  for (std::uint32_t slot = 0; slot < size(); ++slot) outlier(slot, 1, factor);
  return *this;
}

Scenario& Scenario::kill(std::uint32_t slot, std::uint64_t round) {
  disturb(slot, round).kill = true;
  return *this;
}

Scenario& Scenario::join(std::uint32_t slot, std::uint64_t round) {
  disturb(slot, round).join = true;
  return *this;
}

double Scenario::time(std::uint32_t slot, std::uint64_t round, double share, bool noisy) const {
  const sim::Devices devices(*this, seed);
  const auto samples = static_cast<std::uint64_t>(share);
  return noisy ? devices.drawn_ms(slot, round, samples) : devices.true_ms(slot, round, samples);
}

Request Scenario::request(std::uint64_t round, const sim::Devices& devices) const {
  std::vector<bool> present(size(), true);
  for (const sim::Event& event : events) {
    if (event.kill && round >= event.from) present[*event.worker] = false;
    if (event.join && round < event.from) present[*event.worker] = false;
  }
  Request request{round, global_batch, {}};
  for (std::uint32_t slot = 0; slot < size(); ++slot) {
    if (!present[slot]) continue;
    const sim::Device& device = workers[slot];
    WorkerView worker{.slot = slot, .kind = device.kind};
    if (device.max_batch > 0) worker.most = device.max_batch;
    const sim::Devices::Reading reading = devices.reading(slot, round - 1);
    if (device.kind == DeviceKind::cpu) worker.cpu = reading.cpu;
    if (device.memory_mb > 0) worker.memory = reading.memory_mb * memory_wander(*this, slot, round);
    request.workers.push_back(worker);
  }
  return request;
}

TrueCurves Scenario::truth() const {
  const auto devices = std::make_shared<const sim::Devices>(*this, seed);
  return [this, devices](std::uint32_t slot, std::uint64_t round) -> Curve {
    return [=, link = link_ms(*this, *devices, slot, round)](std::uint64_t share) {
      return devices->true_ms(slot, round, share) + link;
    };
  };
}

Profile Scenario::profile() const {
  std::vector<Profile::Line> lines;
  for (const sim::Device& device : workers) {
    Cubic curve;
    CHECK(device.time_ms.size() <= curve.terms.size(), "a profile is cubic at most");
    for (std::size_t i = 0; i < device.time_ms.size(); ++i) curve.terms[i] = device.time_ms[i] / 1000;
    lines.push_back({"", curve});
  }
  return Profile(lines);
}

double Round::straggler_effect() const {
  std::vector<double> times;
  std::copy_if(compute_ms.begin(), compute_ms.end(), std::back_inserter(times),
               [](double t) { return t > 0; });
  return relative_spread(times);
}

std::uint64_t Round::share(std::uint32_t slot) const {
  const auto found = std::find(slots.begin(), slots.end(), slot);
  return found == slots.end() ? 0 : shares[static_cast<std::size_t>(found - slots.begin())];
}

std::vector<Round> play(const Scenario& scenario, Policy& policy) {
  const sim::Devices devices(scenario, scenario.seed);
  const double exchange_ms = scenario.network.exchange_ms();
  std::vector<Round> played;
  for (std::uint64_t k = 1; k <= scenario.last_round(); ++k) {
    const Request request = scenario.request(k, devices);
    Round round;
    round.shares = policy.plan(request);
    CHECK(std::accumulate(round.shares.begin(), round.shares.end(), std::uint64_t{0}) == request.positions,
          "shares do not sum to the round");
    double last_push = 0;  // of the round before: all workers wait for it before they pull
    for (std::size_t i = 0; k > 1 && i < played.back().slots.size(); ++i) {
      if (played.back().shares[i] > 0)
        last_push = std::max(last_push, link_ms(scenario, devices, played.back().slots[i], k - 1) / 2);
    }
    for (std::size_t i = 0; i < request.workers.size(); ++i) {
      const WorkerView& worker = request.workers[i];
      const std::uint64_t share = round.shares[i];
      CHECK(share <= worker.most, "a share exceeds its bound");
      round.slots.push_back(worker.slot);
      round.compute_ms.push_back(devices.drawn_ms(worker.slot, k, share));
      if (share == 0) continue;
      const double link = link_ms(scenario, devices, worker.slot, k), pull = (link + exchange_ms) / 2;
      round.ms = std::max(round.ms, round.compute_ms.back() + link + exchange_ms);
      Sample sample{worker.slot, k, share, round.compute_ms.back() / 1000};
      sample.exchange = (last_push + pull) / 1000;
      sample.planned_cpu = worker.cpu, sample.planned_memory = worker.memory;
      if (worker.cpu >= 0) sample.cpu = devices.cpu(worker.slot, k);
      if (worker.memory >= 0)
        sample.memory = devices.memory_mb(worker.slot, k) * memory_wander(scenario, worker.slot, k + 1);
      policy.observe(sample);
    }
    played.push_back(std::move(round));
  }
  return played;
}

double total_ms(const std::vector<Round>& rounds, std::uint64_t from) {
  double sum = 0;
  for (std::size_t k = from - 1; k < rounds.size(); ++k) sum += rounds[k].ms;
  return sum;
}

double best_single_ms(const Scenario& scenario, std::uint64_t from) {
  const sim::Devices devices(scenario, scenario.seed);
  std::vector<double> sums(scenario.size());
  for (std::uint64_t k = 1; k <= scenario.last_round(); ++k) {
    std::vector<double> round(scenario.size(), INFINITY);
    for (const WorkerView& worker : scenario.request(k, devices).workers) {
      if (worker.most < scenario.global_batch) continue;
      round[worker.slot] = devices.drawn_ms(worker.slot, k, scenario.global_batch) +
                           link_ms(scenario, devices, worker.slot, k) + scenario.network.exchange_ms();
    }
    for (std::size_t slot = 0; slot < sums.size(); ++slot) {
      if (k >= from || std::isinf(round[slot])) sums[slot] += round[slot];
    }
  }
  return *std::min_element(sums.begin(), sums.end());
}

double percent_of_ideal(const Scenario& scenario, Policy& policy) {
  Oracle oracle(scenario.truth());
  return 100 * total_ms(play(scenario, oracle)) / total_ms(play(scenario, policy));
}

double percent_of_ideal(const Scenario& scenario, const std::string& policy) {
  return percent_of_ideal(scenario, *make_policy(policy));
}

}  // namespace steelyard::balancing::arena
