#include "sim/world.h"

#include <algorithm>

#include "core/error.h"
#include "core/stats.h"
#include "server/memory_sink.h"

namespace steelyard::sim {
namespace {

constexpr NodeId checkpointer_node{Role::checkpointer, 1};
constexpr std::uint64_t first_shard = 2;

}  // namespace

// A machine, whatever it is, and what the world keeps about it.
struct World::Node {
  explicit Node(NodeId its_id) : id(its_id) {}
  virtual ~Node() = default;
  virtual void step(Time now, const Envelope& in, Outbox& out) = 0;
  virtual void wake(Time now, Outbox& out) = 0;
  [[nodiscard]] virtual Time deadline() const = 0;
  [[nodiscard]] virtual bool finished() const = 0;

  const NodeId id;
  Time armed = Time::max();       // the earliest timer that will wake it
  std::size_t worker = SIZE_MAX;  // which of the scenario's
  std::uint64_t order = 0;        // computations asked for
  const Shard* shard = nullptr;
};

namespace {

template <class Base, Machine M>
struct Hosted final : Base {
  template <class... Args>
  explicit Hosted(NodeId its_id, Args&&... args) : Base(its_id), machine(std::forward<Args>(args)...) {}
  void step(Time now, const Envelope& in, Outbox& out) override { machine.step(now, in, out); }
  void wake(Time now, Outbox& out) override { machine.wake(now, out); }
  [[nodiscard]] Time deadline() const override { return machine.deadline(); }
  [[nodiscard]] bool finished() const override { return machine.finished(); }
  M machine;
};

template <class Receiver>
Envelope loss(NodeId from, NodeId to) {
  return {from, to, Message(std::in_place_type<Receiver>, Disconnected{from})};
}

}  // namespace

World::World(const Scenario& scenario, const MakePolicy& make_policy, Options options)
    : scenario_(scenario),
      options_(options),
      devices_(scenario, scenario.seed),
      job_(job_of(scenario, options.alone.has_value(), options.trains && scenario.training)),
      batches_(job_, devices_, count_rounds(scenario)),
      network_(scenario.network, first_shard + job_.shards, slices(job_.layout).size()),
      node_of_(scenario.workers.size(), 0),
      mode_(job_.sync),
      probe_(mode_) {
  const std::uint64_t rounds = count_rounds(scenario_);
  begins_.resize(rounds);
  comes_.resize(rounds);
  for (const Event& event : scenario_.events) {
    if (options_.alone || !event.worker) continue;
    if ((event.kill || event.cut) && event.from < rounds) begins_[event.from].push_back(&event);
    // Whoever is to be there for a round starts while the one before is under way.
    if (event.join && event.from > 0 && event.from <= rounds) comes_[event.from - 1].push_back(*event.worker);
    if (event.kill && event.to <= rounds) comes_[event.to - 1].push_back(*event.worker);
  }

  Progress from;
  auto scheduler =
      std::make_unique<Hosted<Node, Scheduler>>(scheduler_node, job_, from, make_policy(truth()));
  scheduler_ = &scheduler->machine;
  Snapshot initial{from, job_.seed, 0, job_.layout, std::vector<float>(job_.layout.size(), 0.0F), {}, 0};
  if (options_.trains && scenario_.training) {
    trainer_ = scenario_.training->trainer(job_);
    scenario_.training->initialize(initial.parameters, job_.seed);
  }
  auto checkpointer = std::make_unique<Hosted<Node, Checkpointer>>(
      checkpointer_node, checkpointer_node, std::move(initial), nn::state_slots(job_.optimizer),
      in_memory([this](const Snapshot& snapshot) {
        parameters_ = snapshot.parameters;
        return std::string("memory");
      }));
  nodes_.push_back(std::move(scheduler));
  nodes_.push_back(std::move(checkpointer));
  for (std::uint32_t i = 0; i < job_.shards; ++i) {
    const NodeId id{Role::shard, nodes_.size()};
    Shard::Options shard{id, {0, "server-" + std::to_string(i), "simulated", "cpu", 0}, {}};
    auto node = std::make_unique<Hosted<Node, Shard>>(id, std::move(shard));
    node->shard = &node->machine;
    nodes_.push_back(std::move(node));
  }
  // Workers first: while a shard or the state is missing, nobody asks whether all of them are there.
  arm(*nodes_[0]);
  for (std::size_t worker = 0; worker < scenario_.workers.size(); ++worker) {
    if (options_.alone ? *options_.alone == worker : devices_.present_at_start(worker)) start_worker(worker);
  }
  for (std::uint64_t i = first_shard; i < first_shard + job_.shards; ++i) arm(*nodes_[i]);
  arm(*nodes_[1]);
}

World::~World() = default;

// ---- who is there

void World::start_worker(std::size_t worker) {
  const Device& device = scenario_.workers[worker];
  const NodeId id{Role::worker, nodes_.size()};
  const auto welcomed = [this, worker](const Welcome& welcome) {
    worker_in_.resize(std::max<std::size_t>(worker_in_.size(), welcome.slot + 1), SIZE_MAX);
    worker_in_[welcome.slot] = worker;
  };
  Worker::Options options{id, {0, device.name, {}, device.kind, device.max_batch}, {}, welcomed};
  auto node = std::make_unique<Hosted<Node, Worker>>(id, std::move(options));
  node->worker = worker;
  node_of_[worker] = id.number;
  nodes_.push_back(std::move(node));
  arm(*nodes_.back());
}

// What it had said before still arrives, and behind it the news that it is gone.
void World::lose(std::size_t worker) {
  const std::uint64_t number = std::exchange(node_of_[worker], 0);
  if (number == 0) return;
  const NodeId id = nodes_[number]->id;
  nodes_[number].reset();
  post(loss<ToScheduler>(id, scheduler_node));
  for (std::uint64_t i = first_shard; i < first_shard + job_.shards; ++i)
    post(loss<ToShard>(id, nodes_[i]->id));
}

// What is under way is gone; both ends are told.
void World::cut(std::size_t worker) {
  if (node_of_[worker] == 0) return;
  const NodeId id = nodes_[node_of_[worker]]->id;
  for (std::uint64_t i = 0; i < first_shard + job_.shards; ++i) {
    if (i == checkpointer_node.number) continue;
    const NodeId other = nodes_[i]->id;
    network_.cut(id, other);
    post(other == scheduler_node ? loss<ToScheduler>(id, other) : loss<ToShard>(id, other));
    post(loss<ToWorker>(other, id));
  }
}

bool World::anybody_left() const {
  return std::any_of(node_of_.begin(), node_of_.end(), [](std::uint64_t node) { return node != 0; });
}

// ---- what happens

void World::run() {
  while (!ended_) {
    if (!step()) break_off("nothing can happen any more");
    if (quiet_ > 1'000'000 + 100 * nodes_.size()) break_off("no round has ended for a very long time");
  }
  if (ended_->outcome != Outcome::finished) break_off("the job ended early: " + ended_->text);
}

void World::break_off(const std::string& why) const {
  throw Failure(ExitCode::failed,
                scenario_.name + ", round " + std::to_string(rounds_.size()) + ": " + why +
                    (anybody_left() ? "" : "; no worker is left: look at the events with kill"));
}

bool World::step() {
  Time next = Time::max();
  if (!messages_.empty()) next = messages_.next();
  const bool computed = !computing_.empty() && computing_.next() < next;
  if (computed) next = computing_.next();
  const bool timer = !timers_.empty() && timers_.next() < next;
  if (timer) next = timers_.next();
  if (next == Time::max()) return false;
  now_ = next;
  ++quiet_;
  if (timer) {
    wake(timers_.pop());
  } else if (computed) {
    finish(computing_.pop());
  } else {
    messages_.consume([this](const Sent& sent) {
      // Whatever was on a connection when it was cut never arrives.
      if (network_.stamp(sent.envelope.from, sent.envelope.to) == sent.stamp) deliver(sent.envelope);
    });
  }
  messages_.advance(now_);
  return true;
}

void World::wake(std::uint64_t number) {
  Node* node = nodes_[number].get();
  if (node == nullptr || node->finished()) return;
  node->armed = Time::max();
  if (node->deadline() <= now_) {
    Outbox out(node->id, std::move(spare_));
    node->wake(now_, out);
    take(*node, out);
    if (number == scheduler_node.number) after_scheduler(true);
  }
  arm(*node);
}

// One timer a node is under way at most, but for those that a nearer deadline has made idle.
void World::arm(Node& node) {
  const Time deadline = node.finished() ? Time::max() : node.deadline();
  if (deadline >= node.armed) return;
  node.armed = std::max(deadline, now_);
  timers_.push(node.armed, node.id.number);
}

void World::deliver(const Envelope& envelope) {
  Node* node = nodes_[envelope.to.number].get();
  if (node == nullptr || node->finished()) return;
  Outbox out(node->id, std::move(spare_));
  node->step(now_, envelope, out);
  take(*node, out);
  arm(*node);
  if (envelope.to == scheduler_node) {
    const auto& message = std::get<ToScheduler>(envelope.message);
    after_scheduler(std::holds_alternative<Disconnected>(message) || std::holds_alternative<Ready>(message));
  }
  if (node->shard != nullptr && !trainer_) {
    if (const std::string trouble = probe_.look(node->id, *node->shard); !trouble.empty()) break_off(trouble);
  }
}

void World::take(Node& node, Outbox& out) {
  std::vector<Envelope> said = out.take();
  for (Envelope& envelope : said) {
    if (const auto* order = std::get_if<ToCompute>(&envelope.message)) {
      if (const auto* it = std::get_if<Compute>(order); it != nullptr && it->parameters) compute(node, *it);
      if (std::holds_alternative<Abandon>(*order)) ++node.order;  // only what is past is ever under way then
    } else if (const auto* told = std::get_if<ToRecorder>(&envelope.message)) {
      record(*told);
    } else if (!std::holds_alternative<ToLink>(envelope.message)) {
      post(std::move(envelope));
    }
  }
  spare_ = std::move(said);
}

double World::slowdown(const Envelope& envelope) const {
  const std::uint64_t outer = std::max(envelope.from.number, envelope.to.number);
  const Node* node = nodes_[outer].get();
  if (node == nullptr || node->worker == SIZE_MAX) return 1;
  return devices_.network(node->worker, next_batch_ == 0 ? 0 : next_batch_ - 1);
}

void World::post(Envelope&& envelope) {
  const Time at = network_.arrival(now_, envelope, slowdown(envelope));
  const std::uint32_t stamp = network_.stamp(envelope.from, envelope.to);
  messages_.push(at, {std::move(envelope), stamp});
}

// ---- computing

// What comes between the begin of a round and its end is in its curve too.
balancing::TrueCurves World::truth() {
  return [this](std::uint32_t slot, std::uint64_t round) -> balancing::Curve {
    const std::size_t worker = worker_in_.at(slot);
    const double exchange_ms =
        scenario_.network.exchange_ms() * devices_.network(worker, batches_.of(round).first);
    return [this, worker, round, exchange_ms, at_s = since_begin()](std::uint64_t share) {
      return share == 0 ? 0.0 : (batches_.true_ms(worker, round, share, at_s) + exchange_ms) / 1000;
    };
  };
}

// Evaluations look at the training and are no part of it: they take no time.
void World::compute(Node& node, const Compute& order) {
  const double at_s = since_begin();
  const double ms =
      order.piece.purpose == Purpose::evaluate ? 0 : batches_.drawn_ms(node.worker, order, at_s);
  computing_.push(now_ + from_seconds(ms / 1000), {node.id, order, at_s, ms / 1000, ++node.order});
}

void World::finish(const Computing& done) {
  const Node* node = nodes_[done.worker.number].get();
  if (node == nullptr || node->order != done.number) return;
  const std::size_t worker = node->worker;
  const auto say = [&](auto said) {
    deliver({compute_node, done.worker, Message(std::in_place_type<ToWorker>, std::move(said))});
  };
  Computation made;
  if (trainer_) {
    made = trainer_->compute(done.order);
    for (GradientReady& final : made.finals) say(std::move(final));
  } else if (done.order.piece.purpose == Purpose::train) {
    const Blob sum = probe_.pushed(done.order);
    for (std::uint32_t slice = 0; slice < job_.shards; ++slice)
      say(GradientReady{done.order.piece.round, done.order.piece.id, slice, sum});
  }
  Report report;
  report.piece = done.order.piece;
  report.seconds = done.seconds;
  report.loss = made.loss;
  report.correct = made.correct;
  if (scenario_.workers[worker].kind == "cpu") {
    const Round batch = batches_.last_of(done.order);
    report.cpu = devices_.cpu(worker, batch, done.begun_s, done.seconds);
    report.memory = devices_.memory_mb(worker, batch);
  }
  say(Computed{report});
}

// ---- what is looked at

void World::record(const ToRecorder& message) {
  if (const auto* note = std::get_if<Note>(&message)) notes_.push_back(note->text);
  if (const auto* ended = std::get_if<Ended>(&message)) ended_ = *ended;
  const auto* done = std::get_if<RoundRecord>(&message);
  if (done == nullptr) return;
  if (done->purpose == Purpose::evaluate) {
    if (trainer_)
      evaluations_.push_back({done->round, trained_s_, done->accuracy, done->loss, tally_.updates});
    return;
  }
  trained_s_ += done->seconds;
  RoundResult round{done->round, done->epoch, {}, {}, done->seconds * 1000, 0, done->loss};
  round.samples = done->passes * done->positions.size();
  round.shares.resize(scenario_.workers.size());
  round.compute_ms.resize(scenario_.workers.size());
  tally_.batches += done->passes * batches_.in(done->positions.size());
  tally_.updates += mode_.on_arrival ? done->parts.size() : 1;
  std::vector<double> times;
  times.reserve(done->parts.size());
  for (const RoundRecord::Part& part : done->parts) {
    const std::size_t worker = worker_in_.at(part.slot);
    round.shares[worker] += part.share;
    round.compute_ms[worker] += part.seconds * 1000;
    times.push_back(part.seconds);
  }
  round.se = relative_spread(times);
  rounds_.push_back(std::move(round));
  quiet_ = 0;
}

void World::after_scheduler(bool membership) {
  bool look = membership;
  // The newest are the last: with slack there may be several.
  const std::list<RoundState>& rounds = scheduler_->rounds();
  auto fresh = rounds.end();
  while (fresh != rounds.begin() && std::prev(fresh)->round() >= next_round_) --fresh;
  for (; fresh != rounds.end() && fresh->purpose() == Purpose::train; ++fresh) {
    look = true;
    next_round_ = fresh->round() + 1;
    begin_round(fresh->open());
  }
  look = (look && options_.checks == Checks::rounds) || options_.checks == Checks::steps;
  if (!look) return;
  if (const std::string trouble = invariants_.check(*scheduler_); !trouble.empty()) {
    break_off("an invariant is broken: " + trouble);
  }
}

double World::since_begin() const { return next_round_ == 0 ? 0 : seconds(now_ - begun_); }

void World::begin_round(const Open& open) {
  if (open.round == 0) begun_ = now_;
  probe_.open(open.positions);
  const Round first = batches_.at(open.epoch, open.positions);
  const Round end = first + std::max<std::uint64_t>(1, open.local.steps * open.local.passes);
  for (; next_batch_ < std::min<Round>(end, begins_.size()); ++next_batch_) {
    for (const Event* event : begins_[next_batch_]) {
      if (event->kill) lose(*event->worker);
      if (event->cut) cut(*event->worker);
    }
    for (const std::size_t worker : comes_[next_batch_]) {
      if (node_of_[worker] == 0) start_worker(worker);
    }
  }
}

}  // namespace steelyard::sim
