#include "tests/balancing/arena.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancing/policies.h"
#include "core/check.h"
#include "core/random.h"
#include "core/stats.h"

namespace steelyard::balancing::arena {
namespace {

constexpr double machine_memory = 16'000;  // MB

}  // namespace

Scenario::Scenario(std::string its_name, std::uint64_t its_positions, std::uint64_t its_rounds,
                   std::vector<Machine> machines, std::uint64_t seed)
    : name(std::move(its_name)),
      positions(its_positions),
      rounds(its_rounds),
      machines_(std::move(machines)),
      states_(machines_.size(), std::vector<State>(rounds + 1)),
      seed_(seed) {}

Scenario& Scenario::scale(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor) {
  for (std::uint64_t k = from; k < std::min(to, rounds + 1); ++k) at(slot, k).scale *= factor;
  return *this;
}

Scenario& Scenario::add(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms) {
  for (std::uint64_t k = from; k < std::min(to, rounds + 1); ++k) at(slot, k).add += ms;
  return *this;
}

Scenario& Scenario::ramp(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double factor) {
  for (std::uint64_t k = from; k <= rounds; ++k) {
    const double part = std::min(1.0, static_cast<double>(k - from) / static_cast<double>(to - from));
    at(slot, k).scale *= 1 + (factor - 1) * part;
  }
  return *this;
}

Scenario& Scenario::periodic(std::uint32_t slot, std::uint64_t from, std::uint64_t period, std::uint64_t slow,
                             double factor) {
  for (std::uint64_t k = from; k <= rounds; k += period) scale(slot, k, k + slow, factor);
  return *this;
}

Scenario& Scenario::random_walk(std::uint32_t slot, double deviation, double lowest, double highest) {
  Random random(hash(seed_, ++draws_));
  double level = 1;
  for (std::uint64_t k = 1; k <= rounds; ++k) {
    level = std::clamp(level * std::exp(deviation * random.normal()), lowest, highest);
    at(slot, k).scale *= level;
  }
  return *this;
}

namespace {

// A gap or a length in rounds: geometric, with this mean, and at least 1.
std::uint64_t drawn(Random& random, double mean) {
  return 1 + static_cast<std::uint64_t>(-std::log(1 - random.uniform()) * (mean - 1));
}

}  // namespace

Scenario& Scenario::bursts(std::uint32_t slot, double mean_gap, double mean_length, double factor) {
  Random random(hash(seed_, ++draws_));
  for (std::uint64_t k = 1 + drawn(random, mean_gap); k <= rounds; k += drawn(random, mean_gap)) {
    const std::uint64_t length = drawn(random, mean_length);
    scale(slot, k, k + length, factor);
    k += length;
  }
  return *this;
}

Scenario& Scenario::co_tenant(std::uint32_t slot, double mean_gap, double mean_length, double cpu) {
  Random random(hash(seed_, ++draws_));
  for (std::uint64_t k = 1 + drawn(random, mean_gap); k <= rounds; k += drawn(random, mean_gap)) {
    for (std::uint64_t length = drawn(random, mean_length); length > 0 && k <= rounds; --length, ++k) {
      at(slot, k).cpu = cpu;
    }
  }
  return *this;
}

Scenario& Scenario::link(std::uint32_t slot, std::uint64_t from, std::uint64_t to, double ms) {
  for (std::uint64_t k = from; k < std::min(to, rounds + 1); ++k) at(slot, k).link += ms;
  return *this;
}

Scenario& Scenario::memory_tenant(std::uint32_t slot, double mean_gap, double mean_length, double left,
                                  double factor) {
  tells_memory_ = true;
  Random random(hash(seed_, ++draws_));
  for (std::uint64_t k = 1 + drawn(random, mean_gap); k <= rounds; k += drawn(random, mean_gap)) {
    for (std::uint64_t length = drawn(random, mean_length); length > 0 && k <= rounds; --length, ++k) {
      at(slot, k).memory = left, at(slot, k).scale *= factor;
    }
  }
  return *this;
}

Scenario& Scenario::outlier(std::uint32_t slot, std::uint64_t round, double factor) {
  at(slot, round).outlier *= factor;
  return *this;
}

Scenario& Scenario::warm_up(double factor) {
  for (std::uint32_t slot = 0; slot < size(); ++slot) outlier(slot, 1, factor);
  return *this;
}

Scenario& Scenario::kill(std::uint32_t slot, std::uint64_t round) {
  for (std::uint64_t k = round; k <= rounds; ++k) at(slot, k).present = false;
  return *this;
}

Scenario& Scenario::join(std::uint32_t slot, std::uint64_t round) {
  for (std::uint64_t k = 0; k < round; ++k) at(slot, k).present = false;
  return *this;
}

double Scenario::time(std::uint32_t slot, std::uint64_t round, double share, bool noisy) const {
  const Machine& machine = machines_[slot];
  const State& state = states_[slot][round];
  double ms = 0;
  for (std::size_t power = machine.time_ms.size(); power-- > 0;) ms = ms * share + machine.time_ms[power];
  ms = ms * state.scale / state.cpu + state.add;
  if (!noisy) return ms;
  Random random(hash(seed_, 0x6E01534E, slot, round));
  ms *= state.outlier * std::max(0.3, 1 + machine.noise * random.normal());
  ms *= std::exp(machine.jitter * random.normal());
  if (machine.quantum_ms > 0) ms = std::ceil(ms / machine.quantum_ms) * machine.quantum_ms;
  if (random.uniform() < machine.pause_chance) ms -= machine.pause_ms * std::log(1 - random.uniform());
  return ms;
}

Request Scenario::request(std::uint64_t round) const {
  Request request{round, positions, {}};
  for (std::uint32_t slot = 0; slot < machines_.size(); ++slot) {
    const State& state = states_[slot][round];
    if (!state.present) continue;
    WorkerView worker{.slot = slot, .kind = machines_[slot].kind, .most = machines_[slot].most};
    if (worker.kind == "cpu") worker.cpu = state.cpu;
    // What is free wanders by a percent or so, whoever is there.
    const double wander = 0.01 * unit(hash(seed_, 0x3E30, slot, round));
    if (worker.kind == "cpu" && tells_memory_) worker.memory = machine_memory * state.memory * (1 - wander);
    // Rounds are shorter than the ticks that processor time is counted in.
    const std::uint64_t draw = hash(seed_, 0x7E77, slot, round);
    if (machines_[slot].blind_meter && draw % 4 == 0) worker.cpu = unit(draw);
    request.workers.push_back(worker);
  }
  return request;
}

TrueCurves Scenario::truth() const {
  return [this](std::uint32_t slot, std::uint64_t round) -> Curve {
    return [=, this](std::uint64_t share) {
      return time(slot, round, static_cast<double>(share), false) + link_ms(slot, round);
    };
  };
}

Profile Scenario::profile() const {
  std::vector<Profile::Line> lines;
  for (const Machine& machine : machines_) {
    Cubic curve;
    CHECK(machine.time_ms.size() <= curve.terms.size(), "a profile is cubic at most");
    for (std::size_t i = 0; i < machine.time_ms.size(); ++i) curve.terms[i] = machine.time_ms[i] / 1000;
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
  std::vector<Round> played;
  for (std::uint64_t k = 1; k <= scenario.rounds; ++k) {
    const Request request = scenario.request(k);
    Round round;
    round.shares = policy.plan(request);
    CHECK(std::accumulate(round.shares.begin(), round.shares.end(), std::uint64_t{0}) == request.positions,
          "shares do not sum to the round");
    double last_push = 0;  // of the round before: all wait for it, each before its own pull
    for (std::size_t i = 0; k > 1 && i < played.back().slots.size(); ++i) {
      if (played.back().shares[i] > 0)
        last_push = std::max(last_push, scenario.link_ms(played.back().slots[i], k - 1) / 2);
    }
    for (std::size_t i = 0; i < request.workers.size(); ++i) {
      const WorkerView& worker = request.workers[i];
      const std::uint64_t share = round.shares[i];
      CHECK(share <= worker.most, "a share is out of its bounds");
      round.slots.push_back(worker.slot);
      round.compute_ms.push_back(share > 0 ? scenario.time(worker.slot, k, static_cast<double>(share)) : 0);
      if (share == 0) continue;
      const double link = scenario.link_ms(worker.slot, k), pull = (link + scenario.exchange_ms) / 2;
      round.ms = std::max(round.ms, round.compute_ms.back() + link + scenario.exchange_ms);
      policy.observe({worker.slot, k, share, round.compute_ms.back() / 1000, worker.cpu, worker.memory,
                      (last_push + pull) / 1000});
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
  std::vector<double> sums(scenario.size());
  for (std::uint64_t k = 1; k <= scenario.rounds; ++k) {
    std::vector<double> round(scenario.size(), INFINITY);
    for (const WorkerView& worker : scenario.request(k).workers) {
      if (worker.most < scenario.positions) continue;
      round[worker.slot] = scenario.time(worker.slot, k, static_cast<double>(scenario.positions)) +
                           scenario.link_ms(worker.slot, k) + scenario.exchange_ms;
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
