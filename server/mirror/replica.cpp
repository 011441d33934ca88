#include "server/mirror/replica.h"

#include <algorithm>

#include "protocol/codec.h"

namespace steelyard {
namespace {

constexpr Duration patience = std::chrono::seconds(1);  // for a mirror's answer, at least
constexpr int many_times = 4;                           // multiple of the slowest answer
// Messages in flight to a mirror while it is filled, and messages not handled there.
constexpr std::size_t room = 64;
constexpr std::size_t most_early = 128;  // messages kept for a promotion
// A worker's time to contact a promoted mirror, which it does after the roster that names it.
constexpr Duration time_to_come = std::chrono::seconds(10);

// Messages that change the shard's part of the model, or its answers about it. All others concern only this
// node and the scheduler.
bool is_forwarded(const ToShard& message) {
  return std::visit(Overloaded{[](const Disconnected& it) {
                                 return it.node.role == Role::worker || it.node.role == Role::checkpointer;
                               },
                               [](const BeginRound&) { return true; }, [](const Pull&) { return true; },
                               [](const PullAck&) { return true; }, [](const Push&) { return true; },
                               [](const Commit&) { return true; }, [](const Fetch&) { return true; },
                               [](const Saved&) { return true; }, [](const IdleTick&) { return true; },
                               [](const PutState&) { return true; }, [](const GetState&) { return true; },
                               [](const auto&) { return false; }},
                    message);
}

Envelope envelope(NodeId from, NodeId to, ToShard message) { return {from, to, Message(std::move(message))}; }

}  // namespace

void Replica::step(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToShard>(&in.message);
  if (message == nullptr) return shard_->step(now, in, out);
  if (finished()) return ignore();
  std::visit(Overloaded{[&]<OfReplica Said>(const Said& it) { handle(now, in.from, it, out); },
                        [&](const SchedulerBeat& it) {
                          claims_.lead(it.generation);
                          hear(now, in, out);
                        },
                        [&](const Refuse& it) {
                          if (it.reason != Refusal::replaced) return hear(now, in, out);
                          if (welcome_) join_again(out);  // otherwise it has rejoined already
                        },
                        [&](const auto&) { hear(now, in, out); }},
             *message);
}

void Replica::hear(Time now, const Envelope& in, Outbox& out) {
  const auto& message = std::get<ToShard>(in.message);
  unheard_.erase(in.from);
  if (std::holds_alternative<Welcome>(message)) welcome_ = in;
  const auto* lost = std::get_if<Disconnected>(&message);
  if (lost != nullptr && lost->node.role == Role::shard) {
    if (!mirror_ || lost->node != mirror_->node) return;
    mirror_->late = true;
    return say(out);
  }
  const bool forwarded = is_forwarded(message);
  if (source_ && forwarded) return keep_early(in);
  if (!forwarded || !mirror_ || !mirror_->begun) return act(now, in, out);
  const bool wait = mirror_->filled || !waiting_.empty() || mirror_->sent - mirror_->below > mirror_->room;
  forward(now, in.from, message, out);
  if (!wait) return act(now, in, out);
  waiting_.push_back({mirror_->sent, in});
}

void Replica::act(Time now, const Envelope& in, Outbox& out) {
  shard_->step(now, in, out);
  fill(now, out);
}

void Replica::wake(Time now, Outbox& out) {
  if (finished()) return;
  if (source_) act_on_forwarded(now);
  drop_unheard(now, out);
  if (const auto quiet = shard_->due_quiet(now); quiet && !source_)
    hear(now, envelope(options_.self, options_.self, *quiet), out);
  if (mirror_ && mirror_->sent > mirror_->below &&
      now - mirror_->asked > std::max(patience, many_times * mirror_->slowest)) {
    mirror_->late = true;
  }
  shard_->set_mirror(state());
  shard_->wake(now, out);
  fill(now, out);
}

Time Replica::deadline() const {
  const Time its = shard_->deadline();
  return source_ && !waiting_.empty() ? std::min(its, since_) : its;
}

MirrorState Replica::state() const {
  return {attempt_, mirror_ && mirror_->filled, mirror_ && mirror_->late, is_mirror()};
}

void Replica::say(Outbox& out) {
  shard_->set_mirror(state());
  shard_->beat(out);
}

void Replica::join_again(Outbox& out) {
  if (mirror_) out.send<ToLink>(link_node, Disconnect{mirror_->node});
  shard_.emplace(options_);
  welcome_.reset();
  mirror_.reset();
  source_.reset();
  named_.reset();
  waiting_.clear();
  early_.clear();
  unheard_.clear();
  attempt_ = 0;
  promoted_ = false;
}

// ---- as a primary

void Replica::handle(Time now, NodeId, const Mirror& mirror, Outbox& out) {
  if (mirror.term != shard_->term() || mirror.attempt <= attempt_ || source_) return ignore();
  attempt_ = mirror.attempt;
  const std::optional<KnownMirror> former = std::exchange(mirror_, std::nullopt);
  if (former && (mirror.alone || former->node != mirror.node))
    out.send<ToLink>(link_node, Disconnect{former->node});
  if (!mirror.alone) {
    mirror_.emplace().node = mirror.node;
    out.send<ToLink>(link_node, Connect{mirror.node, mirror.endpoint});
  }
  fill(now, out);
  for (const Waiting& it : std::exchange(waiting_, {})) hear(now, it.said, out);
  say(out);
}

// Sends the state, the open rounds and a final message, so that the mirror acknowledges something.
void Replica::fill(Time now, Outbox& out) {
  if (!mirror_ || mirror_->begun || finished()) return;
  const auto snapshot = shard_->snapshot();
  if (!snapshot) return;
  mirror_->begun = true;
  for (const Envelope& it : *snapshot) forward(now, it.from, std::get<ToShard>(it.message), out);
  forward(now, options_.self, IdleTick{}, out);
  mirror_->room = mirror_->sent + room;
}

void Replica::forward(Time now, NodeId from, const ToShard& message, Outbox& out) {
  if (mirror_->sent == mirror_->below) mirror_->asked = now;
  Replicate copy{shard_->term(), attempt_, mirror_->sent++, from, {}, {}};
  if (const auto* lost = std::get_if<Disconnected>(&message)) {
    copy.from = lost->node;
  } else {
    Frames frames = encode(Message(message));
    copy.words.assign(reinterpret_cast<const char*>(frames.header.data()), frames.header.size());
    if (frames.payload) copy.values = std::move(*frames.payload);
  }
  out.send<ToShard>(mirror_->node, std::move(copy));
}

void Replica::handle(Time now, NodeId from, const ReplicateAck& ack, Outbox& out) {
  if (!mirror_ || from != mirror_->node || ack.attempt != attempt_ || ack.below <= mirror_->below ||
      ack.below > mirror_->sent) {
    return ignore();
  }
  mirror_->below = ack.below;
  mirror_->slowest = std::max(mirror_->slowest, now - mirror_->asked);
  mirror_->asked = now;
  while (!waiting_.empty() && waiting_.front().below <= ack.below) {
    const Envelope said = std::move(waiting_.front().said);
    waiting_.pop_front();
    act(now, said, out);
  }
  if (mirror_->filled || mirror_->below < mirror_->sent) return;
  mirror_->filled = true;
  say(out);
}

// ---- as a mirror

// The heartbeat confirms the attempt, so that the scheduler sends Mirror to the primary.
void Replica::handle(Time, NodeId, const MirrorOf& mirror_of, Outbox& out) {
  const bool is_primary = mirror_ || promoted_ || (!source_ && shard_->loaded() && !shard_->slices().empty());
  if (mirror_of.term != shard_->term() || !welcome_ || is_primary || mirror_of.attempt < attempt_)
    return ignore();
  if (mirror_of.attempt > attempt_) named_ = mirror_of.primary;
  attempt_ = mirror_of.attempt;
  say(out);
}

void Replica::handle(Time now, NodeId from, const Replicate& forward, Outbox& out) {
  if (forward.term != shard_->term() || !welcome_ || promoted_ || mirror_) return ignore();
  if (named_ == from && forward.attempt == attempt_ && forward.sequence == 0) {
    named_.reset();
    begin_anew(now);
    source_ = Source{from, 0};
  }
  if (!source_ || from != source_->node || forward.attempt != attempt_ || forward.sequence != source_->next)
    return ignore();
  ToShard said = Disconnected{forward.from};
  if (!forward.words.empty()) {
    auto decoded = decode(Role::shard, std::as_bytes(std::span(forward.words)), forward.values);
    const auto* message = std::get_if<Message>(&decoded);
    if (message == nullptr) return ignore();
    said = std::get<ToShard>(*message);
  }
  out.send<ToShard>(from, ReplicateAck{forward.term, forward.attempt, ++source_->next});
  if (waiting_.empty()) since_ = now;
  waiting_.push_back({source_->next, envelope(forward.from, options_.self, std::move(said))});
  if (waiting_.size() > room) act_on_forwarded(now);
}

// A mirror gets the messages of other nodes from its primary. But other nodes may know of its promotion first
// and send to it directly.
void Replica::keep_early(const Envelope& in) {
  early_.push_back(in);
  if (early_.size() <= most_early) return;
  early_.pop_front();
  ignore();
}

// Drops the answers: the primary sends them.
void Replica::act_on_forwarded(Time now) {
  Outbox unsaid(options_.self);
  for (const Waiting& it : std::exchange(waiting_, {})) shard_->step(now, it.said, unsaid);
}

void Replica::begin_anew(Time now) {
  waiting_.clear();
  early_.clear();
  shard_.emplace(options_);
  Outbox unsaid(options_.self);
  shard_->step(now, *welcome_, unsaid);
}

void Replica::handle(Time now, NodeId, const Promote& promote, Outbox& out) {
  if (promote.term != shard_->term() || (!source_ && !promoted_)) return ignore();
  act_on_forwarded(now);
  if (!promoted_) {
    unheard_ = shard_->pulling();
    unheard_until_ = now + time_to_come;
  }
  source_.reset();
  promoted_ = true;
  for (const Envelope& in : std::exchange(early_, {})) hear(now, in, out);
  say(out);
}

// Handles them as disconnected, and forwards that to its mirror, if any.
void Replica::drop_unheard(Time now, Outbox& out) {
  if (unheard_.empty() || now < unheard_until_) return;
  for (const NodeId node : std::exchange(unheard_, {}))
    hear(now, envelope(options_.self, options_.self, Disconnected{node}), out);
}

// ---- between a scheduler and its standby

// Before Welcome it knows no term, so the message may belong to its job.
void Replica::handle(Time, NodeId from, const Arbitrate& arbitrate, Outbox& out) {
  const bool of_this_job = !welcome_ || arbitrate.term == shard_->term();
  if (!of_this_job || !claims_.arbitrate(arbitrate)) return ignore();
  out.send<ToScheduler>(from, Arbitrates{arbitrate.attempt});
}

void Replica::handle(Time, NodeId from, const LeaderClaim& claim, Outbox& out) {
  const bool of_this_job = !welcome_ || claim.term == shard_->term();
  if (!of_this_job || claim.shard != options_.self) return ignore();
  const LeaderGrant answer{claim.attempt, claims_.answer(claim)};
  if (from.role == Role::standby) {
    out.send<ToStandby>(from, answer);
  } else {
    out.send<ToScheduler>(from, answer);
  }
}

static_assert(Machine<Replica>);

}  // namespace steelyard
