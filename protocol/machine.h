// The machine contract: machines decide, hosts act.
//
// Scheduler, shard, worker and checkpointer are plain objects that take an envelope and return envelopes.
// They own no socket, thread, clock, file or log. A host delivers the envelopes: over ZeroMQ between
// processes, through queues within one, from a simulator's event list, or from a test's script. A machine
// that receives the same envelopes at the same times sends the same envelopes.
#pragma once

#include <algorithm>
#include <concepts>
#include <iterator>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

// ExitReason: whether a shard or worker has finished, and why.
class ExitReason {
 public:
  void stopped(Stop stop) { end().stop_ = std::move(stop); }  // requested by the scheduler or its own host
  void refused(Refuse refusal) { end().refusal_ = std::move(refusal); }
  void out_of_reach() { end().unreachable_ = true; }  // the scheduler was silent for too long

  [[nodiscard]] bool reached() const { return reached_; }
  // Valid once reached.
  [[nodiscard]] const Stop& stop() const { return stop_; }
  [[nodiscard]] const std::optional<Refuse>& refusal() const { return refusal_; }
  [[nodiscard]] bool unreachable() const { return unreachable_; }

 private:
  ExitReason& end() {
    reached_ = true;
    return *this;
  }

  bool reached_ = false;
  bool unreachable_ = false;
  Stop stop_;
  std::optional<Refuse> refusal_;
};

struct Envelope {
  NodeId from, to;
  Message message;
};

// The messages that a machine sends, in order. The host delivers them.
class Outbox {
 public:
  explicit Outbox(NodeId self) : self_(self) {}
  // Reuses the memory of this vector; its contents are discarded.
  Outbox(NodeId self, std::vector<Envelope> memory) : self_(self), envelopes_(std::move(memory)) {
    envelopes_.clear();
  }

  template <class Receiver, class Said>
  void send(NodeId to, Said said) {
    envelopes_.push_back({self_, to, Message(std::in_place_type<Receiver>, std::move(said))});
  }
  // Adds existing envelopes.
  void append(std::vector<Envelope> said) { std::ranges::move(said, std::back_inserter(envelopes_)); }
  [[nodiscard]] std::vector<Envelope> take() { return std::exchange(envelopes_, {}); }

 private:
  NodeId self_;
  std::vector<Envelope> envelopes_;
};

template <class M>
concept Machine = requires(M machine, const M& constant, Time now, const Envelope& in, Outbox& out) {
  machine.step(now, in, out);                     // a message arrived
  machine.wake(now, out);                         // the deadline passed (early or twice is harmless)
  { constant.deadline() } -> std::same_as<Time>;  // Time::max() for never
  { constant.finished() } -> std::same_as<bool>;  // will send nothing more
};

// Joins lambdas into one visitor; std::visit then requires one for every message of the variant.
template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;  // needed by clang 14, and so by clang-tidy

// A machine may wrap another one, or act in its place before it starts. The outer machine handles these
// messages of its receiver's variant; the inner machine ignores them.
template <class Said, class... Those>
concept OneOf = (std::same_as<Said, Those> || ...);
template <class Said>
concept OfReplica =  // server/mirror/replica.h, around a shard
    OneOf<Said, Mirror, MirrorOf, Promote, Replicate, ReplicateAck, Arbitrate, LeaderClaim>;
template <class Said>
concept OfStandbyFeed =  // scheduler/recovery/standby_feed.h, beside a scheduler
    OneOf<Said, Follow, JournalAck, Arbitrates, LeaderGrant>;
template <class Said>
concept OfModelIntake =  // server/checkpoint/model_intake.h, before a scheduler
    OneOf<Said, ModelDescription, Weights>;

// A notice from a link to the machine on its own side. std::nullopt if the receiver's variant lacks it.
template <class Said>
std::optional<Envelope> notice_for(NodeId to, Said said) {
  const auto build = [&]<class Receiver>(std::in_place_type_t<Receiver> receiver) -> std::optional<Envelope> {
    if constexpr (std::is_constructible_v<Receiver, Said>) {
      return Envelope{link_node, to, Message(receiver, std::move(said))};
    } else {
      return std::nullopt;  // not for this role
    }
  };
  switch (to.role) {
    case Role::scheduler:
      return build(std::in_place_type<ToScheduler>);
    case Role::shard:
      return build(std::in_place_type<ToShard>);
    case Role::worker:
      return build(std::in_place_type<ToWorker>);
    case Role::checkpointer:
      return build(std::in_place_type<ToCheckpointer>);
    case Role::standby:
      return build(std::in_place_type<ToStandby>);
    default:
      return std::nullopt;
  }
}

// For all nodes that connect to shards. Adopts a new roster: disconnects from shards that are no longer in it
// and connects to all others (connecting twice is harmless).
inline void adopt(const Roster& roster, std::vector<ShardPlace>& shards, Outbox& out) {
  for (const ShardPlace& former : shards) {
    const auto same = [&](const ShardPlace& shard) { return shard.node == former.node; };
    if (std::ranges::none_of(roster.shards, same)) out.send<ToLink>(link_node, Disconnect{former.node});
  }
  shards = roster.shards;
  for (const ShardPlace& shard : shards) out.send<ToLink>(link_node, Connect{shard.node, shard.endpoint});
}

// Whether the roster's shards have all slices of a model, in order and without gaps.
inline bool covers(const Roster& roster, std::size_t slices) {
  std::uint32_t next = 0;
  for (const ShardPlace& shard : roster.shards) {
    if (shard.first != next || shard.last < shard.first) return false;
    next = shard.last;
  }
  return next == slices;
}

// The shard that has this slice; the shards must cover all slices.
inline NodeId holder_of(std::uint32_t slice, std::span<const ShardPlace> shards) {
  const auto its = [&](const ShardPlace& shard) { return shard.first <= slice && slice < shard.last; };
  const auto found = std::ranges::find_if(shards, its);
  CHECK(found != shards.end(), "the roster covers every slice");
  return found->node;
}

}  // namespace steelyard
