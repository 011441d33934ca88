// The machine contract: decide here, do there.
//
// Scheduler, shard, worker and checkpointer are plain objects: an envelope in, envelopes out. They own no
// socket, thread, clock, file or log. A host moves the envelopes: ZeroMQ between processes, queues inside
// one, a simulator's event list, a test's script. Given the same envelopes at the same times a machine says
// the same things.
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

// ExitReason: whether a shard or worker has said its last word, and why.
class ExitReason {
 public:
  void stopped(Stop stop) { end().stop_ = std::move(stop); }  // told to, by the scheduler or by its own host
  void refused(Refuse refusal) { end().refusal_ = std::move(refusal); }
  void out_of_reach() { end().unreachable_ = true; }  // the scheduler was silent for too long

  [[nodiscard]] bool reached() const { return reached_; }
  // The following mean something once it is reached.
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

// What a machine wants said. Sender and order are kept; delivery is the host's affair.
class Outbox {
 public:
  explicit Outbox(NodeId self) : self_(self) {}
  // The same in memory that the host has used before: what is in it goes.
  Outbox(NodeId self, std::vector<Envelope> memory) : self_(self), envelopes_(std::move(memory)) {
    envelopes_.clear();
  }

  template <class Receiver, class Said>
  void send(NodeId to, Said said) {
    envelopes_.push_back({self_, to, Message(std::in_place_type<Receiver>, std::move(said))});
  }
  // What somebody wanted said before.
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
  { constant.finished() } -> std::same_as<bool>;  // nothing more will be said
};

// Joins lambdas into one visitor; std::visit then demands one for every message of the variant.
template <class... Handlers>
struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <class... Handlers>
Overloaded(Handlers...)
    -> Overloaded<Handlers...>;  // clang 14, and so clang-tidy, does not find it by itself

// A machine may stand around another one, or in its place before it begins. It takes the messages that are
// its own out of its receiver's variant, and the machine inside ignores them.
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

// What a link tells its own machine. Every receiver has its own variant, so the notice is built for the role.
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

// What all nodes that speak to shards do with a roster.

// A change: connections to shards that are gone end, to those that are there begin (or stay: connecting twice
// is harmless).
inline void adopt(const Roster& roster, std::vector<ShardPlace>& shards, Outbox& out) {
  for (const ShardPlace& former : shards) {
    const auto same = [&](const ShardPlace& shard) { return shard.node == former.node; };
    if (std::ranges::none_of(roster.shards, same)) out.send<ToLink>(link_node, Disconnect{former.node});
  }
  shards = roster.shards;
  for (const ShardPlace& shard : shards) out.send<ToLink>(link_node, Connect{shard.node, shard.endpoint});
}

// Whether its shards have all slices of a model of so many, one after the other.
inline bool covers(const Roster& roster, std::size_t slices) {
  std::uint32_t next = 0;
  for (const ShardPlace& shard : roster.shards) {
    if (shard.first != next || shard.last < shard.first) return false;
    next = shard.last;
  }
  return next == slices;
}

// The shard that has this slice, of those that cover all.
inline NodeId holder_of(std::uint32_t slice, std::span<const ShardPlace> shards) {
  const auto its = [&](const ShardPlace& shard) { return shard.first <= slice && slice < shard.last; };
  const auto found = std::ranges::find_if(shards, its);
  CHECK(found != shards.end(), "the roster covers every slice");
  return found->node;
}

}  // namespace steelyard
