#include "sim/scenario_run.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "scheduler/scheduler.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/checkpointer.h"
#include "server/mirror/replica.h"
#include "worker/worker.h"

namespace steelyard::sim {
namespace {

constexpr NodeId checkpointer_node{Role::checkpointer, 1};
constexpr std::uint64_t first_shard = 2;

// A scenario counts its length in global batches, so that all modes process the same samples: local steps
// process several of them in one round, and an epoch's last round is shorter.
std::uint64_t rounds_of(const Scenario& scenario) {
  const SyncMode mode = parse_sync(scenario.sync);
  if (!mode.has_fixed_rounds()) return 0;
  const auto ceiling = [](std::uint64_t whole, std::uint64_t part) { return (whole + part - 1) / part; };
  const std::uint64_t each = mode.batches();
  const std::uint64_t in_an_epoch = ceiling(scenario.samples_per_epoch, scenario.global_batch);
  return scenario.rounds / in_an_epoch * ceiling(in_an_epoch, each) +
         ceiling(scenario.rounds % in_an_epoch, each);
}

// Long transfers arrive in parts, as a model has many slices. Here a shard has one slice, so a long transfer
// needs more shards than servers; a server has several.
std::uint32_t shards_of(const Scenario& scenario) {
  constexpr double part_ms = 250;         // upper limit of a part's transfer time,
  constexpr std::uint64_t parts = 256;    // but at most this many parts,
  constexpr std::uint64_t all = 1 << 16;  // and fewer with many workers, since each connects to each shard
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

ScenarioRun::ScenarioRun(const Scenario& scenario, const MakePolicy& make_policy, Options options)
    : scenario_(scenario),
      options_(options),
      devices_(scenario, scenario.seed),
      job_(job_of(scenario, options.alone.has_value(), options.trains && scenario.training)),
      batches_(job_, devices_, count_rounds(scenario)),
      servers_(scenario.server_times, job_, scenario.servers),
      world_(Network(scenario.network, first_shard + job_.shards, slices(job_.layout).size()), *this),
      next_number_(first_shard + job_.shards),
      node_of_(scenario.workers.size(), 0),
      calendar_(calendar_of(scenario, options.alone.has_value())),
      probe_(job_.sync, job_.global_batch),
      invariants_(options.checks, [this](const std::string& trouble) { break_off(trouble); }),
      results_(job_, batches_, scenario.workers.size(), worker_in_, options.trains && scenario.training) {
  world_.watch(*this);
  world_.watch(results_);
  if (options_.checks != Checks::never) world_.watch(invariants_);
  populate(make_policy);
}

ScenarioRun::Calendar ScenarioRun::calendar_of(const Scenario& scenario, bool alone) {
  const std::uint64_t rounds = count_rounds(scenario);
  Calendar it{std::vector<std::vector<const Event*>>(rounds), std::vector<std::vector<std::size_t>>(rounds)};
  for (const Event& event : scenario.events) {
    it.network_changes = it.network_changes || event.network != 1;
    if (alone || !event.worker) continue;
    if ((event.kill || event.cut) && event.from < rounds) it.begins[event.from].push_back(&event);
    // A worker that joins a round starts during the previous one.
    if (event.join && event.from > 0 && event.from <= rounds)
      it.comes[event.from - 1].push_back(*event.worker);
    if (event.kill && event.to <= rounds) it.comes[event.to - 1].push_back(*event.worker);
  }
  return it;
}

// ---- membership

NodeId ScenarioRun::shard_node(std::uint32_t shard) const { return {Role::shard, first_shard + shard}; }

void ScenarioRun::populate(const MakePolicy& make_policy) {
  const Progress from;
  Snapshot initial{from, job_.seed, 0, job_.layout, std::vector<float>(job_.layout.size(), 0.0F), {}, 0};
  if (options_.trains && scenario_.training) {
    trainer_ = scenario_.training->trainer(job_);
    scenario_.training->initialize(initial.parameters, job_.seed);
  }
  world_.start<Scheduler>(scheduler_node, job_, from, make_policy(truth()));
  // Workers first: while a shard or the state is missing, the scheduler does not check whether all workers
  // are present.
  for (std::size_t worker = 0; worker < scenario_.workers.size(); ++worker) {
    if (options_.alone ? *options_.alone == worker : devices_.present_at_start(worker)) start_worker(worker);
  }
  for (std::uint32_t i = 0; i < job_.shards; ++i) {
    const Shard::Options shard{shard_node(i), {0, "server-" + std::to_string(i), "simulated", {}, 0}, {}};
    world_.start<Replica>(shard_node(i), shard);
  }
  world_.start<Checkpointer>(checkpointer_node, checkpointer_node, std::move(initial), state_slots(job_),
                             in_memory([this](const Snapshot& snapshot) {
                               results_.keep(snapshot.parameters);
                               return std::string("memory");
                             }));
}

void ScenarioRun::start_worker(std::size_t worker) {
  const Device& device = scenario_.workers[worker];
  const NodeId id{Role::worker, next_number_++};
  const auto welcomed = [this, worker](const Welcome& welcome) {
    worker_in_.resize(std::max<std::size_t>(worker_in_.size(), welcome.slot + 1), SIZE_MAX);
    worker_in_[welcome.slot] = worker;
  };
  node_of_[worker] = id.number;
  ++living_;
  worker_at_.resize(next_number_, SIZE_MAX);
  worker_at_[id.number] = worker;
  if (device.latency_ms >= 0 || device.bandwidth_gbps >= 0) {
    const NetworkOptions own = network_of(scenario_, worker);
    world_.network().link(id, own.latency_ms, own.bandwidth_gbps);
  }
  if (calendar_.network_changes)
    world_.network().slow(
        id, devices_.network(worker, next_batch_ == 0 ? 0 : next_batch_ - 1, since_begin(world_.now())));
  world_.start<Worker>(
      id, Worker::Options{id, {0, device.name, {}, device.kind, device.max_batch}, {}, welcomed});
}

void ScenarioRun::lose(std::size_t worker) {
  const std::uint64_t number = std::exchange(node_of_[worker], 0);
  if (number == 0) return;
  --living_;
  world_.kill({Role::worker, number});
}

void ScenarioRun::cut(std::size_t worker) {
  if (node_of_[worker] == 0) return;
  const NodeId id{Role::worker, node_of_[worker]};
  world_.cut(scheduler_node, id);
  for (std::uint32_t i = 0; i < job_.shards; ++i) world_.cut(shard_node(i), id);
}

// ---- from start to end

void ScenarioRun::run() {
  std::uint64_t quiet = 0;  // steps since a round was last recorded
  std::size_t recorded = 0;
  while (!results_.ended()) {
    quiet = recorded == results_.rounds().size() ? quiet + 1 : 1;
    recorded = results_.rounds().size();
    if (!world_.step()) break_off("no event is left that could end the job");
    if (quiet > 1'000'000 + 100 * world_.size())
      break_off("no round ends: the simulation was stopped after too many events");
  }
  if (results_.ended()->outcome != Outcome::finished)
    break_off("the job ended early: " + results_.ended()->text);
}

void ScenarioRun::break_off(const std::string& why) const {
  throw Failure(ExitCode::failed,
                scenario_.name + ", round " + std::to_string(results_.rounds().size()) + ": " + why +
                    (living_ > 0 ? "" : "; no worker is left: look at the events with kill"));
}

// ---- computing

// The exchange between the begin and the end of a round is part of its curve.
balancing::TrueCurves ScenarioRun::truth() {
  return [this](std::uint32_t slot, std::uint64_t round) -> balancing::Curve {
    const std::size_t worker = worker_in_.at(slot);
    const double exchange_ms = network_of(scenario_, worker).exchange_ms() *
                               devices_.network(worker, batches_.of(round).first, since_begin(world_.now()));
    return [this, worker, round, exchange_ms, at_s = since_begin(world_.now())](std::uint64_t share) {
      if (share == 0) return 0.0;
      const std::uint64_t workers = std::max<std::uint64_t>(1, living_);
      return (batches_.true_ms(worker, round, share, at_s, workers) + exchange_ms) / 1000;
    };
  };
}

double ScenarioRun::since_begin(Time at) const {
  return next_round_ == 0 ? 0 : std::max(0.0, seconds(at - begun_));
}

// Evaluations only observe the training: they take no time.
double ScenarioRun::seconds_for(NodeId worker, const Compute& order, Time now) {
  if (order.piece.purpose == Purpose::evaluate) return 0;
  return batches_.drawn_ms(worker_at_[worker.number], order, since_begin(now)) / 1000;
}

// Sixteen in an equal share.
std::uint64_t ScenarioRun::micro_batch(const Compute& order) const {
  if (!job_.sync.steals_work || order.piece.purpose == Purpose::evaluate) return 0;
  const std::uint64_t in_all = 16 * scenario_.workers.size() * job_.grain;
  return (scenario_.global_batch + in_all - 1) / in_all * job_.grain;
}

double ScenarioRun::seconds_until(const Order& order, std::uint64_t done) {
  Compute first = order.compute;
  first.piece.positions.end = first.piece.positions.begin + done;
  return seconds_for(order.worker, first, order.begun);
}

void ScenarioRun::finish(const Order& done, const Say& say) {
  const std::size_t worker = worker_at_[done.worker.number];
  const Compute& order = done.compute;
  Computation made;
  if (trainer_) {
    made = trainer_->compute(order);
    for (GradientReady& final : made.finals) say(std::move(final));
  } else if (order.piece.purpose == Purpose::train) {
    const Blob sum = probe_.pushed(order);
    for (std::uint32_t slice = 0; slice < job_.shards; ++slice)
      say(GradientReady{order.piece.round, order.piece.id, slice, sum});
  }
  Report report{0, order.piece};
  report.seconds = done.seconds;
  report.loss = made.loss;
  report.correct = made.correct;
  if (scenario_.workers[worker].kind == DeviceKind::cpu) {
    const Round batch = batches_.last_of(order);
    report.cpu = devices_.cpu(worker, batch, since_begin(done.begun), report.seconds);
    report.memory = devices_.memory_mb(worker, batch, since_begin(done.begun));
    const Devices::Reading now = devices_.reading(worker, batch, since_begin(done.begun), report.seconds);
    report.now = {now.cpu, now.memory_mb};
  }
  say(Computed{report});
}

// ---- observation

void ScenarioRun::stepped(const Hosted& node, const Envelope* in) {
  if (node.id == scheduler_node) return begin_rounds(machine_of<Scheduler>(node));
  if (node.id.role != Role::shard || in == nullptr || trainer_) return;
  const auto* told = std::get_if<ToShard>(&in->message);
  if (const auto* open = told != nullptr ? std::get_if<BeginRound>(told) : nullptr) probe_.open(*open);
  if (const std::string trouble = probe_.look(node.id, machine_of<Replica>(node).shard()); !trouble.empty())
    break_off(trouble);
}

// The newest rounds are the last; with slack several may have begun.
void ScenarioRun::begin_rounds(const Scheduler& scheduler) {
  const std::list<RoundState>& rounds = scheduler.rounds();
  auto fresh = rounds.end();
  while (fresh != rounds.begin() && std::prev(fresh)->round() >= next_round_) --fresh;
  for (; fresh != rounds.end() && fresh->purpose() == Purpose::train; ++fresh) {
    next_round_ = fresh->round() + 1;
    begin_round(fresh->open());
  }
}

void ScenarioRun::begin_round(const BeginRound& open) {
  if (open.round == 0) begun_ = world_.now();
  const Round first = batches_.at(open.epoch, open.positions);
  const std::uint64_t batches =
      job_.sync.lookahead > 0 ? batches_.in(open.positions.size()) : open.local.steps * open.local.passes;
  const Round end = first + std::max<std::uint64_t>(1, batches);
  for (; next_batch_ < std::min<Round>(end, calendar_.begins.size()); ++next_batch_) {
    for (const Event* event : calendar_.begins[next_batch_]) {
      if (event->kill) lose(*event->worker);
      if (event->cut) cut(*event->worker);
    }
    for (const std::size_t worker : calendar_.comes[next_batch_]) {
      if (node_of_[worker] == 0) start_worker(worker);
    }
  }
  for (std::size_t worker = 0; calendar_.network_changes && worker < node_of_.size(); ++worker) {
    if (node_of_[worker] != 0)
      world_.network().slow({Role::worker, node_of_[worker]},
                            devices_.network(worker, next_batch_ - 1, since_begin(world_.now())));
  }
}

// ---- the job

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
  if (!trains) job.sync.lambda = 0, job.sync.slows_late = false;  // pushed values are not gradients
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
    // One number per shard, as the probe requires. If this is the reference of a training, it is evaluated as
    // often, so that the times are comparable.
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
    // The probe's integers are not coded; links still account for the codes.
    job.push_encoding = FloatCode::float32;
  }
  job.workers = alone ? 1 : count_first_workers(scenario);
  const double by_size = 0.005 * static_cast<double>(scenario.workers.size());
  job.heartbeat = scenario.heartbeat_s > 0 ? scenario.heartbeat_s : std::max(0.5, by_size);
  // Lost workers are always reported, so the timeout must not trigger: a report delays its worker's later
  // messages for as long as the exchange takes.
  job.heartbeat_timeout = 1e8;
  return job;
}

}  // namespace steelyard::sim
