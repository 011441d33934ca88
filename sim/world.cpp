#include "sim/world.h"

#include <algorithm>

#include "core/check.h"
#include "protocol/machine.h"

namespace steelyard::sim {
namespace {

// Whether two roles have a connection while both nodes live.
bool linked(Role a, Role b) {
  const auto inner = [](Role role) { return role == Role::scheduler || role == Role::shard; };
  if (a == Role::worker || b == Role::worker) return inner(a) || inner(b);
  return a != b;
}

// The notification of a lost node, delivered after its sender's messages.
Envelope loss(NodeId of, NodeId to) {
  Envelope news = notice_for(to, Disconnected{of}).value();
  news.from = of;
  return news;
}

}  // namespace

World::World(Network network, ComputeModel& computing, Faults faults, double lost_with_sender)
    : network_(std::move(network)),
      computing_model_(computing),
      faults_(std::move(faults)),
      lost_with_sender_(lost_with_sender) {}

// ---- nodes

const Hosted* World::find(NodeId node) const {
  if (node.number >= nodes_.size()) return nullptr;
  const Hosted* found = nodes_[node.number].get();
  return found != nullptr && found->id == node ? found : nullptr;
}

void World::add(std::unique_ptr<Hosted> node) {
  const NodeId id = node->id;
  if (id.number >= nodes_.size()) nodes_.resize(id.number + 1);
  CHECK(nodes_[id.number] == nullptr, "two nodes have one number");
  if (dead_.erase(id.number) > 0) {
    for (const auto& other : nodes_) {
      if (other != nullptr && linked(id.role, other->id.role)) network_.cut(id, other->id);
    }
    std::erase_if(silent_, [&](const auto& pair) { return pair.first == id.number; });
  }
  nodes_[id.number] = std::move(node);
  arm(*nodes_[id.number]);
}

void World::kill(NodeId node) {
  if (living(node) == nullptr) return;
  nodes_[node.number].reset();
  dead_.insert(node.number);
  for (const auto& other : nodes_) {
    if (other != nullptr && linked(node.role, other->id.role)) post(loss(node, other->id));
  }
  for (Observer* observer : observers_) observer->killed(node);
}

// The notification does not wait for messages of the new connection, nor do they wait for it.
void World::cut(NodeId a, NodeId b) {
  network_.cut(a, b);
  for (const auto& [lost, told] : {std::pair(a, b), std::pair(b, a)}) {
    if (living(told) == nullptr) continue;
    Envelope news = loss(lost, told);
    const Time at = now_ + network_.delay(news) + faults_.delay(news, now_);
    messages_.push(at, {std::move(news)});
  }
}

void World::pause(NodeId id, Duration duration) {
  Hosted* node = living(id);
  if (node == nullptr) return;
  node->paused_until = std::max(node->paused_until, now_ + duration);
  timers_.push(node->paused_until, id.number);
}

// ---- events

bool World::step() {
  Time next = Time::max();
  if (!messages_.empty()) next = messages_.next();
  const bool computed = !computing_.empty() && computing_.next() < next;
  if (computed) next = computing_.next();
  const bool timer = !timers_.empty() && timers_.next() < next;
  if (timer) next = timers_.next();
  if (next == Time::max()) return false;
  now_ = next;
  if (timer) {
    wake(timers_.pop());
  } else if (computed) {
    happen(computing_.pop());
  } else {
    messages_.consume([this](const Sent& sent) { arrive(sent); });
  }
  messages_.advance(now_);
  return true;
}

// Delivers the messages that waited. Returns whether the node lives and is not paused again.
bool World::resume(NodeId id) {
  Hosted* node = living(id);
  node->paused_until = {};
  const std::vector<Envelope> waited = std::exchange(node->waiting, {});
  for (const Envelope& envelope : waited) deliver(envelope);
  node = living(id);
  if (node == nullptr || node->paused_until != Time{}) return false;
  node->armed = Time::max();  // timers have passed
  return true;
}

void World::wake(std::uint64_t number) {
  Hosted* node = nodes_[number].get();
  if (node == nullptr || now_ < node->paused_until) return;
  const NodeId id = node->id;
  if (node->paused_until != Time{} && !resume(id)) return;
  if (node->finished()) return;
  node->armed = Time::max();
  if (node->deadline() <= now_) {
    Outbox out(id, std::move(spare_));
    node->wake(now_, out);
    take(*node, out);
    for (Observer* observer : observers_) observer->stepped(*node, nullptr);
    node = living(id);
  }
  if (node != nullptr) arm(*node);
}

// A node has at most one timer set, except those made obsolete by a nearer deadline.
void World::arm(Hosted& node) {
  const Time deadline = node.finished() ? Time::max() : node.deadline();
  if (deadline >= node.armed) return;
  node.armed = std::max(deadline, now_);
  timers_.push(node.armed, node.id.number);
}

// Messages on a connection that was cut never arrive. Messages of a host use no connection.
void World::arrive(const Sent& sent) {
  const Envelope& envelope = sent.envelope;
  const bool old = network_.stamp(envelope.from, envelope.to) != sent.stamp;
  if (old && !of_host(envelope.message)) return;
  if (lost_with_sender_ > 0 && died_with_sender(envelope)) return;
  deliver(envelope);
}

bool World::died_with_sender(const Envelope& envelope) {
  if (find(envelope.from) != nullptr || of_host(envelope.message)) return false;
  const std::pair pair(envelope.from.number, envelope.to.number);
  if (!silent_.contains(pair) && faults_.happens(lost_with_sender_)) silent_.insert(pair);
  return silent_.contains(pair);
}

void World::deliver(const Envelope& envelope) {
  Hosted* node = living(envelope.to);
  if (node == nullptr || node->finished()) return;
  if (node->paused_until != Time{}) {
    node->waiting.push_back(envelope);
    return;
  }
  if (must_prepare(*node, envelope)) return;
  if (!faults_.empty() && !passes(envelope)) return;
  for (Observer* observer : observers_) {
    if (!observer->arrives(envelope)) return;
  }
  node = living(envelope.to);
  if (node == nullptr) return;
  ++delivered_;
  Outbox out(node->id, std::move(spare_));
  node->step(now_, envelope, out);
  take(*node, out);
  arm(*node);
  for (Observer* observer : observers_) observer->stepped(*node, &envelope);
}

// The node is paused until it has prepared the message. The message stays the first of those that wait.
bool World::must_prepare(Hosted& node, const Envelope& envelope) {
  if (std::exchange(node.prepared, false)) return false;
  const double takes_s = computing_model_.seconds_before(node, envelope);
  if (takes_s <= 0) return false;
  node.prepared = true;
  node.waiting.push_back(envelope);
  pause(node.id, from_seconds(takes_s));
  return true;
}

bool World::passes(const Envelope& envelope) {
  for (const Fault* fault : faults_.strike(envelope, now_)) {
    const NodeId node = fault->node.value_or(envelope.to);
    switch (fault->effect) {
      case Fault::Effect::lose:
        return false;
      case Fault::Effect::repeat:
        post(envelope);
        break;
      case Fault::Effect::cut:
        cut(envelope.from, envelope.to);
        return false;
      case Fault::Effect::pause:
        pause(node, faults_.draw(*fault));
        break;
      case Fault::Effect::kill:
        kill(node);
        break;
      case Fault::Effect::delay:
      case Fault::Effect::hold:
        break;
    }
  }
  return true;
}

void World::take(Hosted& node, Outbox& out) {
  const Duration busy = from_seconds(computing_model_.seconds_after(node));
  if (busy > Duration::zero()) pause(node.id, busy);
  std::vector<Envelope> said = out.take();
  for (Envelope& envelope : said) {
    if (const auto* order = std::get_if<ToCompute>(&envelope.message)) {
      if (const auto* it = std::get_if<Compute>(order); it != nullptr && !it->parameters.empty())
        compute(node, *it);
      if (const auto* it = std::get_if<Cut>(order)) ask_to_cut(node, *it);
      if (const auto* it = std::get_if<Abandon>(order)) {
        std::erase_if(node.computing, [&](const auto& under_way) { return under_way.round < it->before; });
      }
    } else if (const auto* told = std::get_if<ToRecorder>(&envelope.message)) {
      for (Observer* observer : observers_) observer->told(*told);
    } else if (!std::holds_alternative<ToLink>(envelope.message)) {
      send(std::move(envelope), now_ + busy);
    }
  }
  spare_ = std::move(said);
}

void World::send(Envelope envelope, Time at) {
  const Duration late = faults_.empty() ? Duration{} : faults_.delay(envelope, now_);
  const Time arrival = network_.arrival(at, envelope, late);
  const std::uint32_t stamp = network_.stamp(envelope.from, envelope.to);
  messages_.push(arrival, {std::move(envelope), stamp});
}

// ---- computing

void World::compute(Hosted& node, const Compute& order) {
  if (!order.trial) {
    for (Observer* observer : observers_) observer->ordered(node.id, order);
  }
  const double takes_s = computing_model_.seconds_for(node.id, order, now_);
  const Piece& piece = order.piece;
  node.computing.push_back({++computations_, piece.round, piece.id, piece.positions.end});
  const Computing whole{{node.id, order, now_, takes_s}, computations_};
  computing_.push(now_ + from_seconds(takes_s), whole);
  const std::uint64_t micro_batch = order.trial ? 0 : computing_model_.micro_batch(order);
  if (micro_batch == 0) return;
  divisible_.emplace(computations_, whole.order);
  computing_.push(now_, {whole.order, computations_, Computing::What::part, 0});
  for (std::uint64_t part = 1, told = 0; part < parts_told; ++part) {
    const std::uint64_t done = piece.positions.size() * part / parts_told / micro_batch * micro_batch;
    if (std::exchange(told, done) == done) continue;
    const Time at = now_ + from_seconds(computing_model_.seconds_until(whole.order, done));
    computing_.push(at, {whole.order, computations_, Computing::What::part, done});
  }
}

// A worker receives compute answers after the messages that it sends now.
void World::ask_to_cut(const Hosted& node, const Cut& cut) {
  for (const Hosted::Computation& it : node.computing) {
    const auto order = divisible_.find(it.number);
    if (it.piece != cut.piece_id || order == divisible_.end()) continue;
    computing_.push(now_, {order->second, it.number, Computing::What::cut, cut.end});
  }
}

// Not abandoned, orphaned or cut.
Hosted::Computation* World::awaited(const Computing& event) {
  Hosted* node = living(event.order.worker);
  if (node == nullptr) return nullptr;
  const auto found = std::ranges::find(node->computing, event.number, &Hosted::Computation::number);
  return found == node->computing.end() ? nullptr : &*found;
}

void World::happen(const Computing& event) {
  const Hosted::Computation* its = awaited(event);
  if (its == nullptr) {
    divisible_.erase(event.number);
    return;
  }
  const Piece& piece = event.order.compute.piece;
  switch (event.what) {
    case Computing::What::part:
      if (piece.positions.begin + event.positions < its->end) {
        answer(event,
               ComputeProgress{piece.id, event.positions, computing_model_.micro_batch(event.order.compute)});
      }
      return;
    case Computing::What::cut:
      return cut(event);
    case Computing::What::end:
      if (piece.positions.end == its->end) finish(event);
  }
}

void World::answer(const Computing& event, ToWorker said) {
  deliver({compute_node, event.order.worker, Message(std::in_place_type<ToWorker>, std::move(said))});
}

// In time if nothing behind the new end has begun.
void World::cut(const Computing& event) {
  Hosted::Computation& its = *awaited(event);
  ComputeModel::Order order = event.order;
  Interval& positions = order.compute.piece.positions;
  if (positions.begin < event.positions && event.positions < its.end) {
    const double until_s = computing_model_.seconds_until(order, event.positions - positions.begin);
    const Time at = order.begun + from_seconds(until_s);
    if (now_ <= at) {
      its.end = positions.end = event.positions;
      order.seconds = until_s;
      computing_.push(at, {order, event.number});
    }
  }
  answer(event, CutTried{order.compute.piece.id, event.positions, its.end});
}

void World::finish(const Computing& done) {
  const NodeId worker = done.order.worker;
  if (done.order.compute.trial) {
    answer(done, Computed{Report{.piece = done.order.compute.piece, .seconds = done.order.seconds}});
  } else {
    computing_model_.finish(done.order, [&](ToWorker said) {
      if (awaited(done) != nullptr) answer(done, std::move(said));
    });
  }
  divisible_.erase(done.number);
  if (Hosted* node = living(worker); node != nullptr)
    std::erase_if(node->computing, [&](const auto& it) { return it.number == done.number; });
}

}  // namespace steelyard::sim
