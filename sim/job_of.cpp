#include <algorithm>

#include "sim/world.h"

namespace steelyard::sim {

namespace {

// A scenario counts its length in global batches, so that all modes have the same samples before them: local
// steps take several of them in one round, and an epoch's last round is shorter.
std::uint64_t rounds_of(const Scenario& scenario) {
  const SyncMode mode = parse_sync(scenario.sync);
  if (mode.span != SyncMode::Span::batch) return 0;
  const auto ceiling = [](std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; };
  const std::uint64_t each = std::max<std::uint64_t>(1, mode.local);
  const std::uint64_t in_an_epoch = ceiling(scenario.samples_per_epoch, scenario.global_batch);
  return scenario.rounds / in_an_epoch * ceiling(in_an_epoch, each) +
         ceiling(scenario.rounds % in_an_epoch, each);
}

}  // namespace

Job job_of(const Scenario& scenario, bool alone, bool trains) {
  Job job;
  job.name = scenario.name;
  job.seed = scenario.seed;
  job.train_samples = scenario.samples_per_epoch;
  job.global_batch = scenario.global_batch;
  job.epochs = scenario.epochs;
  job.rounds = rounds_of(scenario);
  // One round for the whole job needs its length.
  if (job.rounds == 0 && job.epochs == 0) job.epochs = 1;
  job.shards = scenario.servers;
  job.sync = scenario.sync;
  job.policy = scenario.policy;
  job.evaluate_every = 0;
  if (scenario.training) scenario.training->describe(job);
  job.checkpoint_every = 0;
  if (trains) {
    job.target_accuracy = scenario.target_accuracy;
  } else {
    // One number for each shard, as the witness wants it. Where the yardstick of a training is simulated, it
    // is evaluated as often, so that the times are of the same job.
    job.model = job.data = "simulated";
    job.layout = {};
    append(job.layout, "positions", {scenario.servers});
    job.layout.slice_size = 1;
    job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
    job.schedule = {};
    job.schedule.base = 1;
    job.clip_norm = 0;
  }
  job.workers = 1;
  if (!alone) {
    std::vector<bool> late(scenario.workers.size(), false);
    for (const Event& event : scenario.events) {
      if (event.join && event.from > 0 && event.worker) late[*event.worker] = true;
    }
    job.workers = static_cast<std::uint32_t>(std::count(late.begin(), late.end(), false));
  }
  const double by_size = 0.005 * static_cast<double>(scenario.workers.size());
  job.heartbeat = scenario.heartbeat_s > 0 ? scenario.heartbeat_s : std::max(0.5, by_size);
  job.dead_after = 20 * job.heartbeat;
  return job;
}

}  // namespace steelyard::sim
