#include <algorithm>
#include <cmath>

#include "sim/scenario_run.h"

namespace steelyard::sim {

namespace {

// A scenario counts its length in global batches, so that all modes have the same samples before them: local
// steps take several of them in one round, and an epoch's last round is shorter.
std::uint64_t rounds_of(const Scenario& scenario) {
  const SyncMode mode = parse_sync(scenario.sync);
  if (!mode.has_fixed_rounds()) return 0;
  const auto ceiling = [](std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; };
  const std::uint64_t each = mode.batches();
  const std::uint64_t in_an_epoch = ceiling(scenario.samples_per_epoch, scenario.global_batch);
  return scenario.rounds / in_an_epoch * ceiling(in_an_epoch, each) +
         ceiling(scenario.rounds % in_an_epoch, each);
}

// Of a transfer that takes long, parts arrive: a model has many slices. Here one stands for all that a shard
// has, so shards are more than servers then, as servers have several.
std::uint32_t shards_of(const Scenario& scenario) {
  constexpr double part_ms = 250;         // takes at most about so long,
  constexpr std::uint64_t parts = 256;    // but they are not more than this,
  constexpr std::uint64_t all = 1 << 16;  // and with many workers fewer: each of them speaks to each shard
  const std::uint64_t most =
      std::clamp(all / std::max<std::uint64_t>(1, scenario.workers.size()), std::uint64_t{1}, parts);
  double longest_ms = scenario.network.model_ms();
  for (std::size_t worker = 0; worker < scenario.workers.size(); ++worker)
    longest_ms = std::max(longest_ms, network_of(scenario, worker).model_ms());
  const double wanted = std::min(std::ceil(longest_ms / part_ms), static_cast<double>(most));
  const std::uint32_t each = (static_cast<std::uint32_t>(wanted) + scenario.servers - 1) / scenario.servers;
  return scenario.servers * std::max(each, 1U);
}

}  // namespace

Job job_of(const Scenario& scenario, bool alone, bool trains) {
  Job job;
  job.name = scenario.name;
  job.seed = scenario.seed;
  job.train_samples = scenario.samples_per_epoch;
  job.global_batch = scenario.global_batch;
  job.grain = scenario.grain;
  job.epochs = scenario.epochs;
  job.rounds = rounds_of(scenario);
  // One round for the whole job needs its length.
  if (job.rounds == 0 && job.epochs == 0) job.epochs = 1;
  job.shards = shards_of(scenario);
  job.sync = parse_sync(scenario.sync);
  if (!trains) job.sync.lambda = 0;  // what is pushed are no gradients
  job.policy = scenario.policy;
  job.push_encoding = scenario.network.push_encoding;
  job.pull_encoding = scenario.network.pull_encoding;
  job.evaluate_every = 0;
  if (scenario.training) scenario.training->describe(job);
  job.checkpoint_every = 0;
  job.checkpoint_minutes = 0;
  if (trains) {
    job.target_accuracy = scenario.target_accuracy;
  } else {
    // One number for each shard, as the probe wants it. Where the yardstick of a training is simulated, it
    // is evaluated as often, so that the times are of the same job.
    job.model = job.data = "simulated";
    job.layout = {};
    append(job.layout, "positions", {job.shards});
    job.layout.slice_size = 1;
    job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
    job.schedule = {};
    job.schedule.base = 1;
    job.clip_norm = 0;
    job.outer_rate = 1;
    job.outer_momentum = 0;
    job.push_encoding =
        FloatCode::float32;  // the probe's whole numbers come as they are, and links charge for codes
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
  // Whoever is lost is told of. Silence is no sign: a report holds back what its worker says behind it for as
  // long as the exchange takes.
  job.heartbeat_timeout = 1e8;
  return job;
}

}  // namespace steelyard::sim
