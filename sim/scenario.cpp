#include "sim/scenario.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include "core/error.h"
#include "protocol/sync_limits.h"
#include "sim/simulated_device.h"

namespace steelyard::sim {
namespace {

constexpr std::uint64_t most_rounds = 10'000'000;
constexpr std::uint64_t tried_batches = 4096;  // of a curve, spread evenly over its range

[[noreturn]] void refuse(const Scenario& scenario, const std::string& what) {
  throw Failure(ExitCode::configuration, scenario.name + ": " + what);
}

void check_curve(const Scenario& scenario, const Device& device) {
  const std::uint64_t stride = std::max<std::uint64_t>(1, scenario.global_batch / tried_batches);
  for (std::uint64_t batch = 1; batch <= scenario.global_batch; batch += stride) {
    const double ms = device.own_ms(static_cast<double>(batch));
    if (!std::isfinite(ms) || ms <= 0) {
      refuse(scenario, "worker '" + device.name + "': time_ms is " + std::to_string(ms) + " for a batch of " +
                           std::to_string(batch) + "; times are positive, up to job.global_batch");
    }
  }
  // If it were held from there on, all batches would take the same time, which is never intended.
  if (device.measured.empty() && polynomial(device.time_ms, 2) < polynomial(device.time_ms, 1)) {
    refuse(scenario, "worker '" + device.name +
                         "': time_ms decreases from the first sample on; give a polynomial, low order first, "
                         "that grows with the batch");
  }
}

void check_grain(const Scenario& scenario) {
  const std::string grain = std::to_string(scenario.grain);
  if (scenario.grain == 0 || scenario.global_batch % scenario.grain != 0) {
    refuse(scenario, "a global_batch of " + std::to_string(scenario.global_batch) +
                         " is not a whole number of grains of " + grain +
                         ": give job.global_batch a multiple of it");
  }
  for (const Device& device : scenario.workers) {
    if (device.max_batch == 0 || device.max_batch >= scenario.grain) continue;
    refuse(scenario, "worker '" + device.name + "': max_batch = " + std::to_string(device.max_batch) +
                         " is less than one grain of " + grain + ": give it more, or leave it out");
  }
}

// The last batch before the polynomial falls; std::nullopt if it does not fall up to `most`.
std::optional<std::uint64_t> peak_of(const std::vector<double>& time_ms, std::uint64_t most) {
  const auto falls_at = [&](std::uint64_t batch) {
    return polynomial(time_ms, static_cast<double>(batch + 1)) <
           polynomial(time_ms, static_cast<double>(batch));
  };
  const std::uint64_t stride = std::max<std::uint64_t>(1, most / tried_batches);
  for (std::uint64_t batch = 1; batch < most; batch += stride) {
    if (!falls_at(batch)) continue;
    while (batch > 1 && falls_at(batch - 1)) --batch;
    return batch;
  }
  return std::nullopt;
}

bool same_curve(const Device& a, const Device& b) {
  return a.time_ms == b.time_ms && a.flat_ms == b.flat_ms && a.measured == b.measured;
}

void check_event(const Scenario& scenario, const Event& event) {
  if (event.worker && *event.worker >= scenario.workers.size())
    refuse(scenario, "an event names a worker that does not exist");
  if ((event.kill || event.join || event.cut) && !event.worker) {
    refuse(scenario, "kill, join and cut need a worker");
  }
  if (event.from >= event.to || event.from_s >= event.to_s)
    refuse(scenario, "an event ends before it begins");
  const bool random = event.shape == Shape::bursty || event.shape == Shape::random_walk;
  if (event.by_clock && (random || event.kill || event.join || event.cut))
    refuse(scenario, "bursty, random_walk, kill, join and cut are timed in rounds, not in seconds");
  if (event.shape == Shape::ramp && (event.by_clock ? std::isinf(event.to_s) : event.to == UINT64_MAX))
    refuse(scenario, "a ramp needs an end");
  if (event.shape == Shape::periodic && (event.by_clock ? event.period_s <= 0 : event.period == 0))
    refuse(scenario, "a periodic event needs a period");
  if (event.shape == Shape::bursty && (event.mean_gap < 1 || event.mean_length < 1)) {
    refuse(scenario, "a bursty event needs a mean gap and a mean length of at least one round");
  }
  if (event.scale <= 0 || event.cpu <= 0 || event.memory <= 0 || event.network <= 0 || event.add_ms < 0) {
    refuse(scenario, "scale, cpu, memory and network of an event are positive, and add_ms is not negative");
  }
}

// Whether this batch is the last of its round. Modes with long rounds process several batches at once, and a
// worker that returns for one of them is in time.
bool ends_round(const Scenario& scenario, const SyncMode& mode, Round batch, std::uint64_t batches) {
  const std::uint64_t in_an_epoch =
      (scenario.samples_per_epoch + scenario.global_batch - 1) / scenario.global_batch;
  const std::uint64_t at = batch % in_an_epoch + 1;
  if (batch + 1 == batches) return true;
  if (mode.span == SyncMode::Span::job) return false;
  if (at == in_an_epoch) return true;
  return mode.has_fixed_rounds() && at % mode.batches() == 0;
}

// Rounds are the clock of events: without a worker to end a round, no worker ever returns. Checks changes in
// the order of ScenarioRun::begin_round(). A target accuracy may end the job earlier; only then is the result
// unknown.
void check_somebody_is_there(const Scenario& scenario) {
  struct Change {
    std::vector<std::size_t> lost, back;
  };
  std::map<Round, Change> changes;
  std::vector<bool> there(scenario.workers.size(), true);
  for (const Event& event : scenario.events) {
    if (event.kill) changes[event.from].lost.push_back(*event.worker);
    if (event.kill && event.to != UINT64_MAX) changes[event.to - 1].back.push_back(*event.worker);
    if (!event.join || event.from == 0) continue;
    changes[event.from - 1].back.push_back(*event.worker);
    there[*event.worker] = false;
  }
  const std::uint64_t batches = count_rounds(scenario);
  const SyncMode mode = parse_sync(scenario.sync);
  auto count = static_cast<std::size_t>(std::ranges::count(there, true));
  const auto set = [&](std::size_t worker, bool to) {
    if (there[worker] != to) count += to ? 1 : -1;
    there[worker] = to;
  };
  for (auto it = changes.begin(); it != changes.end() && it->first < batches; ++it) {
    for (const std::size_t worker : it->second.lost) set(worker, false);
    for (const std::size_t worker : it->second.back) set(worker, true);
    if (count > 0) continue;
    const Round next = std::next(it) == changes.end() ? batches : std::min(std::next(it)->first, batches);
    for (Round batch = it->first; batch < next; ++batch) {
      if (!ends_round(scenario, mode, batch, batches)) continue;
      refuse(scenario, "no worker is present in round " + std::to_string(batch) +
                           ": all workers are killed before it or join later, so the round cannot end: "
                           "change the events so that one is present");
    }
  }
}

}  // namespace

NetworkOptions network_of(const Scenario& scenario, std::size_t worker) {
  const Device& device = scenario.workers.at(worker);
  NetworkOptions network = scenario.network;
  if (device.latency_ms >= 0) network.latency_ms = device.latency_ms;
  if (device.bandwidth_gbps >= 0) network.bandwidth_gbps = device.bandwidth_gbps;
  return network;
}

std::uint32_t count_first_workers(const Scenario& scenario) {
  std::vector<bool> late(scenario.workers.size(), false);
  for (const Event& event : scenario.events) {
    if (event.join && event.from > 0 && event.worker) late[*event.worker] = true;
  }
  return static_cast<std::uint32_t>(std::ranges::count(late, false));
}

std::uint64_t count_rounds(const Scenario& scenario) {
  const std::uint64_t batch = scenario.global_batch, samples = scenario.samples_per_epoch;
  const std::uint64_t in_an_epoch = samples / batch + (samples % batch == 0 ? 0 : 1);
  const std::uint64_t by_epochs = scenario.epochs == 0 ? UINT64_MAX : scenario.epochs * in_an_epoch;
  return std::min(by_epochs, scenario.rounds == 0 ? UINT64_MAX : scenario.rounds);
}

void check_scenario(const Scenario& scenario) {
  if (!is_sync(scenario.sync)) {
    refuse(scenario, "sync mode '" + scenario.sync + "' does not exist; choose one of " + sync_choices());
  }
  const SyncMode mode = parse_sync(scenario.sync);
  for (const std::string& no_code : {code_trouble("push", scenario.network.push_encoding, mode),
                                     code_trouble("pull", scenario.network.pull_encoding, mode)}) {
    if (!no_code.empty()) refuse(scenario, no_code);
  }
  if (scenario.workers.empty()) refuse(scenario, "there is no worker; write at least one [[worker]]");
  const std::string no_sync = sync_trouble(mode, scenario.workers.size());
  if (!no_sync.empty()) refuse(scenario, no_sync);
  if (scenario.global_batch == 0 || scenario.samples_per_epoch == 0) {
    refuse(scenario, "job.global_batch and job.samples_per_epoch must be at least 1");
  }
  check_grain(scenario);
  // Counts batches, since paced rounds contain any number of them.
  if (mode.chooses_length() && scenario.rounds > 0) {
    const std::uint64_t batches = scenario.rounds;
    Scenario epoch = scenario;
    epoch.rounds = 0, epoch.epochs = std::max<std::uint64_t>(1, scenario.epochs);
    if (batches != count_rounds(epoch)) {
      refuse(scenario, "sync = \"" + scenario.sync +
                           "\" decides as it goes how long rounds are, and can end only with an "
                           "epoch: give job.epochs in place of job.rounds");
    }
  }
  if (count_rounds(scenario) > most_rounds) {
    refuse(scenario, "it would take more than " + std::to_string(most_rounds) +
                         " rounds; give job.rounds or job.epochs a smaller number");
  }
  const Device* before = nullptr;
  for (const Device& device : scenario.workers) {
    // Thousands of workers may share one curve.
    if (before == nullptr || !same_curve(device, *before)) check_curve(scenario, device);
    before = &device;
  }
  std::set<std::string> names;
  for (const Device& device : scenario.workers) {
    if (!names.insert(device.name).second)
      refuse(scenario, "two workers are named '" + device.name + "'; give each a name of its own");
  }
  for (const Event& event : scenario.events) check_event(scenario, event);
  if (count_first_workers(scenario) == 0) {
    refuse(scenario, "every worker joins later: at least one must be present in round 0");
  }
  if (scenario.target_accuracy == 0) check_somebody_is_there(scenario);
}

std::vector<std::string> notes_on(const Scenario& scenario) {
  std::vector<std::string> notes;
  const Device* before = nullptr;
  for (const Device& device : scenario.workers) {
    const bool told =
        before != nullptr && same_curve(device, *before) && device.max_batch == before->max_batch;
    before = &device;
    if (told || !device.measured.empty()) continue;
    const std::uint64_t most =
        device.max_batch == 0 ? scenario.global_batch : std::min(device.max_batch, scenario.global_batch);
    if (const auto peak = peak_of(device.time_ms, most)) {
      char text[128];
      std::snprintf(text, sizeof text,
                    "': time_ms falls beyond a batch of %llu: larger ones take %.2f ms like it",
                    static_cast<unsigned long long>(*peak), device.own_ms(static_cast<double>(*peak)));
      notes.push_back("worker '" + device.name + text);
    }
  }
  return notes;
}

}  // namespace steelyard::sim
