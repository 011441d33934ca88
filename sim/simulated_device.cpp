#include "sim/simulated_device.h"

#include <algorithm>
#include <cmath>

#include "balancing/cost/curves.h"
#include "core/random.h"
#include "core/text.h"

namespace steelyard::sim {

namespace {

// Parts of the seed, so that each use of it has its own random numbers.
constexpr std::uint64_t noise_draws = 0x6E01534E, shape_draws = 0x54A9E, instant_draws = 0x1257A;
constexpr double least_noise = 0.3;  // lower limit of the factor

// A random gap or length in rounds: geometric, with this mean, and at least 1.
std::uint64_t drawn(Random& random, double mean) {
  return 1 + static_cast<std::uint64_t>(-std::log(1 - random.uniform()) * (mean - 1));
}

std::vector<float> bursts(const Event& event, std::uint64_t rounds, Random random) {
  std::vector<float> levels(rounds, 0.0F);
  for (std::uint64_t k = event.from + drawn(random, event.mean_gap); k < rounds;
       k += drawn(random, event.mean_gap)) {
    for (std::uint64_t left = drawn(random, event.mean_length); left > 0 && k < rounds; --left, ++k)
      levels[k] = 1;
  }
  return levels;
}

std::vector<float> walk(const Event& event, std::uint64_t rounds, Random random) {
  std::vector<float> levels(rounds, 1.0F);
  double level = 1;
  for (std::uint64_t k = event.from; k < rounds; ++k) {
    level = std::clamp(level * std::exp(event.deviation * random.normal()), event.lowest, event.highest);
    levels[k] = static_cast<float>(level);
  }
  return levels;
}

// Strength, 0 to 1, of a shape that is not random.
double strength_by_clock(const Event& event, double at_s) {
  if (at_s < event.from_s) return 0;
  const double since = at_s - event.from_s;
  if (event.shape == Shape::ramp) return std::min(1.0, since / (event.to_s - event.from_s));
  if (at_s >= event.to_s) return 0;
  return event.shape == Shape::step || std::fmod(since, event.period_s) < event.length_s ? 1 : 0;
}

}  // namespace

Devices::Devices(const Scenario& scenario, std::uint64_t seed)
    : scenario_(scenario), seed_(seed), strokes_(scenario.workers.size()) {
  // With backup workers a round may be as short as one worker's share.
  const std::uint64_t backup = parse_sync(scenario.sync).backup;
  const std::uint64_t rounds = count_rounds(scenario) * (backup > 0 ? scenario.workers.size() : 1);
  for (std::size_t number = 0; number < scenario.events.size(); ++number) {
    const Event& event = scenario.events[number];
    const std::size_t first = event.worker.value_or(0);
    const std::size_t last = event.worker ? first + 1 : strokes_.size();
    for (std::size_t worker = first; worker < last; ++worker) {
      const std::uint64_t draws = event.draws ? *event.draws : hash(seed, shape_draws, number, worker);
      Stroke stroke{&event, {}, hash(draws, instant_draws)};
      const Random random(draws);
      if (event.shape == Shape::bursty) stroke.levels = bursts(event, rounds, random);
      if (event.shape == Shape::random_walk) stroke.levels = walk(event, rounds, random);
      strokes_[worker].push_back(std::move(stroke));
    }
  }
}

bool Devices::Stroke::changes_in(Round round) const {
  if (event->shape != Shape::bursty || event->mean_length <= 1) return false;
  if (round == 0 || round > levels.size()) return false;
  const auto level = [&](Round at) { return at < levels.size() && at < event->to ? levels[at] : 0; };
  return level(round) != level(round - 1);
}

double Devices::Stroke::instant(Round round) const { return unit(hash(draws, round)); }

// For a random walk, its level.
double Devices::Stroke::strength(Round round, double done) const {
  if (changes_in(round) && done < instant(round)) --round;
  const bool inside = event->from <= round && round < event->to;
  switch (event->shape) {
    case Shape::step:
      return inside ? 1 : 0;
    case Shape::ramp:
      if (round < event->from) return 0;
      return inside ? static_cast<double>(round - event->from) / static_cast<double>(event->to - event->from)
                    : 1;
    case Shape::periodic:
      return inside && (round - event->from) % event->period < event->length ? 1 : 0;
    case Shape::bursty:
      return inside && round < levels.size() ? levels[round] : 0;
    case Shape::random_walk:
      return inside && round < levels.size() ? levels[round] : 1;
  }
  return 0;
}

Devices::State Devices::state(std::size_t worker, Round round, double at_s, bool foreseen_only,
                              double done) const {
  State state;
  if (scenario_.events.empty()) return state;  // fast path: called often with ten thousand workers
  for (const Stroke& stroke : strokes_[worker]) {
    const Event& event = *stroke.event;
    if (foreseen_only && event.unforeseen) continue;
    const double level = event.by_clock ? strength_by_clock(event, at_s) : stroke.strength(round, done);
    if (event.shape == Shape::random_walk) {
      state.scale *= level;
      continue;
    }
    state.scale *= 1 + (event.scale - 1) * level;
    state.add_ms += event.add_ms * level;
    state.cpu *= 1 + (event.cpu - 1) * level;
    state.memory *= 1 + (event.memory - 1) * level;
    state.network *= 1 + (event.network - 1) * level;
  }
  return state;
}

Devices::State Devices::mean(std::size_t worker, Round round, double at_s, bool foreseen_only) const {
  std::vector<double> changes;
  for (const Stroke& stroke : strokes_[worker]) {
    if (stroke.changes_in(round)) changes.push_back(stroke.instant(round));
  }
  if (changes.empty()) return state(worker, round, at_s, foreseen_only);
  std::ranges::sort(changes);
  changes.push_back(1);
  // Between two changes, the time is proportional to the work and to the slowdown.
  State sum{0, 0, 0, 0, 0};
  double begin = 0, time = 0;
  for (const double end : changes) {
    const State now = state(worker, round, at_s, foreseen_only, begin);
    const double work = end - std::exchange(begin, end), its_time = work * now.slowdown();
    time += its_time;
    sum.cpu += its_time * now.cpu, sum.memory += its_time * now.memory;
    sum.add_ms += work * now.add_ms, sum.network += work * now.network;
  }
  sum.cpu /= time, sum.memory /= time;
  sum.scale = time * sum.cpu;  // so that slowdown() is that of all the work
  return sum;
}

double Devices::noise(std::size_t worker, Round round) const {
  const double deviation = scenario_.workers[worker].noise;
  if (deviation == 0) return 1;
  Random random(hash(seed_, noise_draws, worker, round));
  return std::max(least_noise, 1 + deviation * random.normal());
}

// The draws beside noise(), applied after it.
double Devices::noisy_ms(std::size_t worker, Round round, double ms) const {
  const Device& device = scenario_.workers[worker];
  if (device.jitter == 0 && device.quantum_ms == 0 && device.pause_chance == 0) return ms;
  Random random(hash(seed_, noise_draws, worker, round));
  random.normal();
  ms *= std::exp(device.jitter * random.normal());
  if (device.quantum_ms > 0) ms = std::ceil(ms / device.quantum_ms) * device.quantum_ms;
  if (random.uniform() < device.pause_chance) ms -= device.pause_ms * std::log(1 - random.uniform());
  return ms;
}

double Devices::batch_ms(std::size_t worker, Round round, std::uint64_t samples, double at_s,
                         bool foreseen_only) const {
  if (samples == 0) return 0;
  const State now = mean(worker, round, at_s, foreseen_only);
  const Device& device = scenario_.workers[worker];
  const double luck = foreseen_only ? 1 : noise(worker, round);
  const double recorded = foreseen_only ? device.recording.trend(round) : device.recording.factor(round);
  const double own = device.own_ms(static_cast<double>(samples)) * recorded * now.slowdown();
  const double done = device.trace.empty() ? own : 1000 * device.trace.took_s(at_s, own * luck / 1000) / luck;
  const double ms = (done + now.add_ms) * luck;
  return foreseen_only ? ms : noisy_ms(worker, round, ms);
}

double Devices::true_ms(std::size_t worker, Round round, std::uint64_t samples, double at_s) const {
  return batch_ms(worker, round, samples, at_s, true);
}

double Devices::drawn_ms(std::size_t worker, Round round, std::uint64_t samples, double at_s) const {
  return batch_ms(worker, round, samples, at_s, false);
}

double Devices::cpu(std::size_t worker, Round round, double at_s, double took_s) const {
  const SpeedTrace& trace = scenario_.workers[worker].trace;
  const double left = trace.kind == SpeedTrace::Kind::cpu ? trace.mean(at_s, at_s + took_s) : 1;
  return mean(worker, round, at_s, false).cpu * left;
}

double Devices::memory_mb(std::size_t worker, Round round, double at_s) const {
  const double whole = scenario_.workers[worker].memory_mb;
  return whole > 0 ? whole * mean(worker, round, at_s, false).memory : -1;
}

Devices::Reading Devices::reading(std::size_t worker, Round round, double at_s, double took_s,
                                  double waited_s) const {
  if (scenario_.readings == Readings::late)
    return {cpu(worker, round, at_s, took_s), memory_mb(worker, round, at_s)};
  const double now_s = at_s + took_s + waited_s;
  // The coming computation is expected to take as long as this one.
  if (scenario_.readings == Readings::oracle)
    return {cpu(worker, round + 1, now_s, took_s), memory_mb(worker, round + 1, now_s)};
  const Device& device = scenario_.workers[worker];
  const State now = state(worker, round, now_s, false);
  const double left = device.trace.kind == SpeedTrace::Kind::cpu ? device.trace.mean(now_s, now_s) : 1;
  return {now.cpu * left, device.memory_mb > 0 ? device.memory_mb * now.memory : -1};
}

double Devices::network(std::size_t worker, Round round, double at_s) const {
  return mean(worker, round, at_s, false).network;
}

bool Devices::present_at_start(std::size_t worker) const {
  return std::none_of(strokes_[worker].begin(), strokes_[worker].end(),
                      [](const Stroke& stroke) { return stroke.event->join && stroke.event->from > 0; });
}

}  // namespace steelyard::sim
