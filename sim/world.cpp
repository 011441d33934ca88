#include "sim/world.h"

#include <algorithm>

#include "core/check.h"
#include "wire/notice.h"

namespace steelyard::sim {
namespace {

// Nodes that have a connection while both live.
bool linked(Role a, Role b) {
  const auto inner = [](Role role) { return role == Role::scheduler || role == Role::shard; };
  if (a == Role::worker || b == Role::worker) return inner(a) || inner(b);
  return a != b;
}

// Behind what its sender had said.
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

// ---- who is there

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

// The news does not wait for a new connection's messages, nor they for it.
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

// ---- what happens

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
    finish(computing_.pop());
  } else {
    messages_.consume([this](const Sent& sent) { arrive(sent); });
  }
  messages_.advance(now_);
  return true;
}

// Hears what waited. Whether it lives, and is not paused again.
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

// One timer a node is under way at most, but for those that a nearer deadline has made idle.
void World::arm(Hosted& node) {
  const Time deadline = node.finished() ? Time::max() : node.deadline();
  if (deadline >= node.armed) return;
  node.armed = std::max(deadline, now_);
  timers_.push(node.armed, node.id.number);
}

// Whatever was on a connection when it was cut never arrives. What a host says is on no connection.
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
  std::vector<Envelope> said = out.take();
  for (Envelope& envelope : said) {
    if (const auto* order = std::get_if<ToCompute>(&envelope.message)) {
      if (const auto* it = std::get_if<Compute>(order); it != nullptr && !it->parameters.empty())
        compute(node, *it);
      if (const auto* it = std::get_if<Abandon>(order)) {
        std::erase_if(node.computing, [&](const auto& under_way) { return under_way.round < it->before; });
      }
    } else if (const auto* told = std::get_if<ToRecorder>(&envelope.message)) {
      for (Observer* observer : observers_) observer->told(*told);
    } else if (!std::holds_alternative<ToLink>(envelope.message)) {
      post(std::move(envelope));
    }
  }
  spare_ = std::move(said);
}

void World::post(Envelope envelope) {
  const Duration late = faults_.empty() ? Duration{} : faults_.delay(envelope, now_);
  const Time at = network_.arrival(now_, envelope, late);
  const std::uint32_t stamp = network_.stamp(envelope.from, envelope.to);
  messages_.push(at, {std::move(envelope), stamp});
}

// ---- computing

void World::compute(Hosted& node, const Compute& order) {
  for (Observer* observer : observers_) observer->ordered(node.id, order);
  const double takes_s = computing_model_.seconds_for(node.id, order, now_);
  node.computing.push_back({++computations_, order.piece.round});
  computing_.push(now_ + from_seconds(takes_s), {{node.id, order, now_, takes_s}, computations_});
}

// Neither given up nor orphaned.
bool World::awaited(const Computing& done) const {
  const Hosted* node = find(done.order.worker);
  const auto same = [&](const Hosted::Computation& it) { return it.number == done.number; };
  return node != nullptr && std::ranges::any_of(node->computing, same);
}

void World::finish(const Computing& done) {
  if (!awaited(done)) return;
  const NodeId worker = done.order.worker;
  computing_model_.finish(done.order, [&](ToWorker answer) {
    if (awaited(done))
      deliver({compute_node, worker, Message(std::in_place_type<ToWorker>, std::move(answer))});
  });
  if (Hosted* node = living(worker); node != nullptr)
    std::erase_if(node->computing, [&](const auto& it) { return it.number == done.number; });
}

}  // namespace steelyard::sim
