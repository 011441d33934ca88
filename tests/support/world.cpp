#include "tests/support/world.h"

#include <algorithm>
#include <cmath>

#include "balancing/policies.h"
#include "core/check.h"
#include "nn/optimizer/schedule.h"
#include "server/memory_sink.h"
#include "wire/transport/notice.h"

namespace steelyard::test {

struct World::Node {
  virtual ~Node() = default;
  virtual void step(Time now, const Envelope& in, Outbox& out) = 0;
  virtual void wake(Time now, Outbox& out) = 0;
  virtual Time deadline() const = 0;
  virtual bool finished() const = 0;
};

namespace {

template <class Base, Machine M>
struct Hosted : Base {
  template <class... Args>
  explicit Hosted(Args&&... args) : machine(std::forward<Args>(args)...) {}
  void step(Time now, const Envelope& in, Outbox& out) override { machine.step(now, in, out); }
  void wake(Time now, Outbox& out) override { machine.wake(now, out); }
  Time deadline() const override { return machine.deadline(); }
  bool finished() const override { return machine.finished(); }
  M machine;
};

constexpr NodeId checkpointer_node{Role::checkpointer, 1};

}  // namespace

struct World::Event {
  Time at;
  std::uint64_t sequence = 0;
  Envelope envelope;
  bool operator<(const Event& other) const {  // a heap gives the greatest: the earliest is that
    return std::tie(at, sequence) > std::tie(other.at, other.sequence);
  }
};

Job toy_job(std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs, std::uint32_t workers,
            std::uint32_t shards, std::uint64_t parameters, std::uint64_t slice_size) {
  Job job;
  job.name = "toy";
  job.train_samples = samples;
  job.test_samples = 10;
  job.global_batch = batch;
  job.epochs = epochs;
  job.workers = workers;
  job.shards = shards;
  append(job.layout, "weight", {parameters});
  job.layout.slice_size = slice_size;
  job.optimizer = {nn::Optimizer::Kind::momentum, 0.5, 0.0};
  job.schedule.base = 0.25;
  job.schedule.epochs = static_cast<double>(epochs);
  return job;
}

Job footprint_job(const std::string& sync, std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs,
                  std::uint32_t workers, std::uint32_t shards, std::uint64_t slices) {
  const std::uint64_t rounds = epochs * ((samples + batch - 1) / batch);
  Job job = toy_job(samples, batch, epochs, workers, shards, slices * rounds, rounds);
  job.sync = parse_sync(sync);
  job.optimizer = {nn::Optimizer::Kind::sgd, 0, 0};
  return job;
}

float toy_gradient(Position position, std::uint64_t epoch, std::uint64_t element) {
  return static_cast<float>(static_cast<int>(hash(position, epoch, element) % 17) - 8);
}

World::World(Job job, Options options)
    : job_(std::move(job)),
      mode_(job_.sync),
      footprints_(job_),
      options_(std::move(options)),
      random_(options_.seed) {
  Snapshot initial;
  initial.progress = options_.from;
  initial.layout = job_.layout;
  initial.parameters = options_.initial;
  initial.parameters.resize(job_.layout.size());
  expected_.push_back(initial.parameters);
  const auto store = [this](const Snapshot& snapshot) {
    stored_.push_back(snapshot);
    check_stored(snapshot);
    return std::string("memory");
  };
  auto scheduler =
      std::make_unique<Hosted<Node, Scheduler>>(job_, options_.from, balancing::make_policy(options_.policy));
  scheduler_ = &scheduler->machine;
  nodes_[scheduler_node] = std::move(scheduler);
  nodes_[checkpointer_node] = std::make_unique<Hosted<Node, Checkpointer>>(
      checkpointer_node, initial, nn::state_slots(job_.optimizer), in_memory(store));
}

World::~World() = default;

NodeId World::add_worker(const std::string& name) {
  const NodeId node{Role::worker, next_number_++};
  Worker::Options options{node, {0, name, "", "cpu", 0}, {}, [](const Welcome&) {}};
  auto hosted = std::make_unique<Hosted<Node, Worker>>(options);
  worker_machines_[node] = &hosted->machine;
  nodes_[node] = std::move(hosted);
  worker_nodes_.push_back(node);
  return node;
}

NodeId World::add_shard(const std::string& name) {
  const NodeId node{Role::shard, next_number_++};
  Shard::Options options{node, {0, name, "local", "cpu", 0}, {}};
  auto hosted = std::make_unique<Hosted<Node, Shard>>(options);
  shards_[node] = &hosted->machine;
  nodes_[node] = std::move(hosted);
  shard_nodes_.push_back(node);
  return node;
}

void World::populate(int workers, int shards) {
  for (int i = 0; i < workers; ++i) add_worker("worker-" + std::to_string(i));
  for (int i = 0; i < shards; ++i) add_shard("server-" + std::to_string(i));
}

void World::hush(NodeId worker) {
  on_delivery = [worker](const Envelope& envelope) {
    const auto* message = std::get_if<ToScheduler>(&envelope.message);
    const bool early = message != nullptr &&
                       (std::holds_alternative<Hello>(*message) || std::holds_alternative<Ready>(*message));
    return envelope.from != worker || message == nullptr || early;
  };
}

void World::kill(NodeId node) {
  nodes_.erase(node);
  shards_.erase(node);
  worker_machines_.erase(node);
  // What it had said may or may not have left the machine; from the first loss on, nothing of it arrives.
  std::map<NodeId, bool> lost;
  std::vector<Event> kept;
  std::sort(events_.begin(), events_.end(), [](const Event& a, const Event& b) { return b < a; });
  for (Event& event : events_) {
    if (event.envelope.to == node) continue;
    if (event.envelope.from == node) {
      bool& gone = lost[event.envelope.to];
      gone = gone || random_.uniform() < 0.3;
      if (gone) continue;
    }
    kept.push_back(std::move(event));
  }
  events_ = std::move(kept);
  std::make_heap(events_.begin(), events_.end());
  for (const auto& [other, machine] : nodes_) {
    if (auto notice = notice_for(other, Disconnected{node})) {
      notice->from = node;  // behind what still arrives from it
      post(std::move(*notice));
    }
  }
}

void World::break_connection(NodeId a, NodeId b) {
  std::erase_if(events_, [&](const Event& event) {
    const NodeId from = event.envelope.from, to = event.envelope.to;
    return (from == a && to == b) || (from == b && to == a);
  });
  std::make_heap(events_.begin(), events_.end());
  if (auto notice = notice_for(a, Disconnected{b})) post(std::move(*notice));
  if (auto notice = notice_for(b, Disconnected{a})) post(std::move(*notice));
}

void World::interrupt(NodeId node) {
  if (auto notice = notice_for(node, Interrupt{})) post(std::move(*notice));
}

void World::post(Envelope envelope) {
  const auto pair = std::pair(envelope.from, envelope.to);
  const Time at = std::max(last_[pair], now_ + from_seconds(random_.uniform() * 0.002));
  last_[pair] = at;
  events_.push_back({at, sequence_++, std::move(envelope)});
  std::push_heap(events_.begin(), events_.end());
}

bool World::step() {
  Time next_wake = Time::max();
  NodeId waker;
  for (const auto& [node, machine] : nodes_) {
    if (machine->finished() || machine->deadline() >= next_wake) continue;
    next_wake = machine->deadline();
    waker = node;
  }
  if (events_.empty() && next_wake == Time::max()) return false;
  if (events_.empty() || next_wake < events_.front().at) {
    now_ = std::max(now_, next_wake) + Duration(1);
    Outbox out(waker);
    nodes_.at(waker)->wake(now_, out);
    take(waker, out);
    check(waker);
    return true;
  }
  std::pop_heap(events_.begin(), events_.end());
  const Event event = std::move(events_.back());
  events_.pop_back();
  now_ = std::max(now_, event.at);
  deliver(event.envelope);
  return true;
}

void World::deliver(const Envelope& envelope) {
  const auto node = nodes_.find(envelope.to);
  if (node == nodes_.end() || node->second->finished()) return;
  if (const auto* answer = std::get_if<ToWorker>(&envelope.message)) {
    // The compute node gave up what was abandoned.
    const auto before = abandoned_.find(envelope.to);
    const auto* final = std::get_if<GradientReady>(answer);
    const auto* computed = std::get_if<Computed>(answer);
    const Round round = final != nullptr      ? final->round
                        : computed != nullptr ? computed->report.piece.round
                                              : UINT64_MAX;
    if (before != abandoned_.end() && round < before->second) return;
  }
  if (const auto* heard = std::get_if<ToShard>(&envelope.message)) {
    if (const auto* it = std::get_if<Open>(heard)) footprints_.opened(it->round, it->positions.size());
  }
  if (on_delivery && !on_delivery(envelope)) return;
  if (!nodes_.contains(envelope.to)) return;  // on_delivery may have killed it
  ++delivered_;
  if (const auto* heard = std::get_if<ToWorker>(&envelope.message)) {
    const auto* done = std::get_if<Computed>(heard);
    if (done != nullptr && done->report.piece.purpose == Purpose::train)
      footprints_.pushed(envelope.to, done->report);
    if (const auto* start = std::get_if<Start>(heard)) footprints_.started(envelope.to, *start);
  }
  Outbox out(envelope.to);
  nodes_.at(envelope.to)->step(now_, envelope, out);
  take(envelope.to, out);
  check(envelope.to);
}

void World::take(NodeId node, Outbox& out) {
  for (Envelope& envelope : out.take()) {
    if (const auto* order = std::get_if<ToCompute>(&envelope.message)) {
      if (const auto* it = std::get_if<Compute>(order); it != nullptr && it->parameters) compute(node, *it);
      if (const auto* it = std::get_if<Abandon>(order)) abandoned_[node] = it->before;
    } else if (std::holds_alternative<ToRecorder>(envelope.message)) {
      recorded_.push_back(std::move(envelope));
    } else if (!std::holds_alternative<ToLink>(envelope.message)) {
      post(std::move(envelope));
    }
  }
}

// A compute node without arithmetic worth the name: adds toy gradients, slice by slice, from the last to the
// first.
void World::compute(NodeId worker, const Compute& order) {
  if (mode_.on_arrival) {
    const std::string trouble = footprints_.look(worker, order);
    if (!trouble.empty()) violations_.push_back("parameters of " + to_string(worker) + ": " + trouble);
  } else if (!std::ranges::equal(order.parameters->span(), expected(order.piece.round))) {
    violations_.push_back("round " + std::to_string(order.piece.round) +
                          ": computed from parameters that are not version " +
                          std::to_string(order.piece.round));
  }
  const Time done = now_ + from_seconds(random_.uniform() * options_.slowest_ms / 1000);
  const auto say = [&](auto said) {
    events_.push_back(
        {done, sequence_++, {compute_node, worker, Message(std::in_place_type<ToWorker>, std::move(said))}});
    std::push_heap(events_.begin(), events_.end());
  };
  if (order.piece.purpose == Purpose::train) {
    const std::vector<Slice> all = slices(job_.layout);
    for (std::size_t i = all.size(); i-- > 0;) {
      std::vector<float> sum(all[i].size());
      for (Position p = order.piece.positions.begin; p < order.piece.positions.end; ++p) {
        for (std::uint64_t e = 0; e < sum.size(); ++e)
          sum[e] += toy_gradient(p, order.piece.epoch, all[i].begin + e);
      }
      if (mode_.on_arrival) sum = footprints_.gradient(order, all[i]);
      GradientReady final{order.piece.round, order.piece.id, static_cast<std::uint32_t>(i),
                          Blob::copy_of(sum)};
      if (on_gradient) on_gradient(final);
      say(std::move(final));
    }
  }
  Report report{0, order.piece};
  report.seconds = seconds(done - now_) + 1e-6;
  report.correct = order.piece.positions.size() / 2;
  say(Computed{report});
}

const std::vector<float>& World::expected(Version version) {
  const Version first = options_.from.version;
  EpochCursor cursor(job_, options_.from);
  std::vector<float> momentum(job_.layout.size() * nn::state_slots(job_.optimizer));
  std::vector<std::vector<float>> history{expected_.front()};
  if (version - first < expected_.size()) return expected_[version - first];
  while (history.size() <= version - first) {
    const Interval positions = cursor.positions();
    std::vector<float> sum(job_.layout.size()), next(job_.layout.size());
    for (Position p = positions.begin; p < positions.end; ++p) {
      for (std::uint64_t e = 0; e < sum.size(); ++e) sum[e] += toy_gradient(p, cursor.epoch(), e);
    }
    const double rate =
        round_rate(job_.schedule, job_.train_samples, cursor.epoch(), positions, cursor.local());
    const nn::Optimizer rule =
        mode_.is_local() ? nn::Optimizer{nn::Optimizer::Kind::sgd, 0, 0} : job_.optimizer;
    nn::step(rule, {next, history.back(), sum, 1.0 / static_cast<double>(positions.size())},
             nn::state_slots(rule) == 0 ? std::span<float>() : std::span(momentum), rate, true);
    history.push_back(std::move(next));
    cursor.advance();
  }
  expected_ = std::move(history);
  return expected_[version - first];
}

std::vector<float> World::parameters() const {
  std::vector<float> all(job_.layout.size());
  for (const auto& [node, shard] : shards_) {
    for (const SliceMemory& slice : shard->slices()) {
      std::ranges::copy(slice.current().floats(),
                        all.begin() + static_cast<std::ptrdiff_t>(slice.place().begin));
    }
  }
  return all;
}

void World::check(NodeId node) {
  if (node == scheduler_node) {
    if (std::string trouble = invariants_.check(*scheduler_); !trouble.empty())
      violations_.push_back(std::move(trouble));
  }
  if (const auto shard = shards_.find(node); shard != shards_.end()) check_shard(*shard->second);
}

void World::check_stored(const Snapshot& snapshot) {
  if (!mode_.on_arrival) return;
  const Version version = snapshot.progress.version;
  for (const Slice& slice : slices(job_.layout)) {
    const std::span stored(snapshot.parameters.data() + slice.begin, slice.size());
    const std::string trouble = footprints_.look(stored, version, version);
    if (!trouble.empty()) violations_.push_back("checkpoint " + std::to_string(version) + ": " + trouble);
  }
}

void World::check_shard(const Shard& shard) {
  for (const SliceMemory& slice : shard.slices()) {
    if (!slice.loaded()) continue;
    if (mode_.on_arrival) {
      const std::string trouble = footprints_.look(slice.current().floats(), slice.version());
      if (!trouble.empty()) violations_.push_back("a shard: " + trouble);
      continue;
    }
    const std::vector<float>& whole = expected(slice.version());
    const std::span right(whole.data() + slice.place().begin, slice.place().size());
    if (!std::ranges::equal(slice.current().floats(), right)) {
      violations_.push_back("version " + std::to_string(slice.version()) + " of the slice at " +
                            std::to_string(slice.place().begin) + " is not what the plain loop gives");
    }
  }
}

std::string World::describe() const {
  std::string text = "phase " + std::to_string(static_cast<int>(scheduler_->phase()));
  for (const auto& [slot, worker] : scheduler_->members().workers) {
    text += "\n  worker " + std::to_string(slot) + ' ' + worker.name +
            (worker.ready ? " ready" : " not ready") + (worker.present ? " present" : " absent") +
            (alive(worker.node) ? "" : " dead");
  }
  for (const auto& [slot, shard] : scheduler_->members().shards) {
    text += "\n  shard " + std::to_string(slot) + (shard.loaded ? " loaded" : " not loaded") +
            " at version " + std::to_string(shard.version);
  }
  for (const RoundState& round : scheduler_->rounds()) {
    text += "\n  round " + std::to_string(round.round()) +
            (round.purpose() == Purpose::train ? " train" : " evaluate");
    for (const auto& [id, piece] : round.pieces()) {
      text += "\n    piece " + std::to_string(id) + " [" + std::to_string(piece.positions.begin) + ", " +
              std::to_string(piece.positions.end) + ") of " +
              (piece.owner ? std::to_string(*piece.owner) : std::string("nobody")) +
              (piece.reported ? " reported" : "");
    }
  }
  return text;
}

bool World::run(std::size_t most) {
  for (std::size_t i = 0; i < most && !scheduler_->finished(); ++i) {
    if (!step()) break;
  }
  return scheduler_->finished();
}

}  // namespace steelyard::test
