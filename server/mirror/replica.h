// Replica: a shard without a mirror, the primary of a mirror, or a mirror.
//
// A shard is pure (protocol/machine.h): two shards that receive the same messages in the same order have the
// same state. So the primary forwards each message to its mirror and handles it only once the mirror has it:
//
//  primary  sends Replicate to the mirror, waits for ReplicateAck, then handles the message. So the mirror
//           could send everything that the primary sends.
//  mirror   sends ReplicateAck, then handles the message, but drops its answers. When the primary is lost,
//           the scheduler promotes the mirror, which takes its place.
//
// A primary that is cut off from its mirror waits: the scheduler decides either to promote the mirror
// (Promote) or to let the primary continue without one (Mirror), never both. Workers then repeat their pulls
// and unacknowledged pushes to the promoted mirror. It drops the state of workers that send nothing for ten
// seconds, because they may have been lost with the primary.
//
// The primary fills its mirror when no slice contains a part of an open round: between two rounds where
// versions are exact, at a barrier in other modes. It sends the state in the same messages as a checkpointer,
// and from then on forwards its messages. Until the mirror has caught up it cannot be promoted, and the
// primary does not wait for it, within a limit.
//
// A shard that was declared lost but still runs rejoins empty, as if its process had just started.
//
// This works in all sync modes. But a mirror cannot be filled during training if hubs differ, if delay
// compensation keeps workers' versions, if pushes wait for others (CloseRule::is_in_slices), or if a
// NormLimit has a history.
//
// Owned and used by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>

#include "protocol/optional_messages.h"
#include "server/shard/shard.h"

namespace steelyard {

// Claims: a shard's state about the scheduler and its standby, and its decision which of them leads
// (protocol/optional_messages.h).
//
// A shard grants claims of a standby only if the scheduler has made it the arbiter, and only for the named
// attempt. So a process that replaces a lost shard refuses them. Grants are final: a repeated claim gets the
// same answer. A claim with a lower generation than the highest known here is refused.
class Claims {
 public:
  // A scheduler of this generation leads.
  void lead(std::uint64_t generation) { generation_ = std::max(generation_, generation); }
  // The scheduler makes this shard the arbiter of this attempt. Returns false if a later leader is known.
  bool arbitrate(const Arbitrate& it) {
    if (it.generation < generation_) return false;
    lead(it.generation);
    arbiter_of_ = it.attempt;
    return true;
  }
  // Whether the claim is granted. That of a scheduler is, unless its standby has a grant.
  [[nodiscard]] bool answer(const LeaderClaim& claim) {
    if (claim.generation < generation_) return false;
    const auto known = std::ranges::find(granted_, claim.attempt, &Grant::attempt);
    if (known != granted_.end()) return known->to_standby == claim.standby;
    if (claim.standby && claim.attempt != arbiter_of_) return false;
    granted_.push_back({claim.attempt, claim.standby});
    if (granted_.size() > most) granted_.pop_front();
    return true;
  }

 private:
  static constexpr std::size_t most = 64;  // older attempts are forgotten: their standby is refused
  struct Grant {
    std::uint64_t attempt = 0;
    bool to_standby = false;
  };
  std::uint64_t generation_ = 0;
  std::optional<std::uint64_t> arbiter_of_;
  std::deque<Grant> granted_;
};

// A primary's view of its mirror.
struct KnownMirror {
  NodeId node;
  bool begun = false;                 // the state was sent to it
  bool filled = false;                // it has caught up once, and stayed so
  bool late = false;                  // it has not answered in time, and heartbeats report that
  std::uint64_t sent = 0, below = 0;  // messages sent; all below `below` are acknowledged
  std::uint64_t room = 0;             // number of messages that may be in flight while it is filled
  Time asked;                         // time since which messages are in flight, or of its last answer
  Duration slowest{};                 // longest time to an answer so far
};

class Replica {
 public:
  explicit Replica(const Shard::Options& options) : options_(options), shard_(std::in_place, options) {}

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const;
  [[nodiscard]] bool finished() const { return shard_->finished(); }

  [[nodiscard]] const ExitReason& exit_reason() const { return shard_->exit_reason(); }
  [[nodiscard]] const Shard& shard() const { return *shard_; }
  [[nodiscard]] bool is_mirror() const { return source_.has_value(); }
  // It has a mirror that may take its place at any time.
  [[nodiscard]] bool is_mirrored() const { return mirror_ && mirror_->filled && !mirror_->late; }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

 private:
  // A mirror's state of its primary.
  struct Source {
    NodeId node;
    std::uint64_t next = 0;  // sequence number of the next message
  };
  struct Waiting {
    std::uint64_t below = 0;  // messages acknowledged once this one is
    Envelope said;
  };

  void handle(Time now, NodeId from, const Mirror& mirror, Outbox& out);
  void handle(Time now, NodeId from, const Replicate& forward, Outbox& out);
  void handle(Time now, NodeId from, const ReplicateAck& ack, Outbox& out);
  void handle(Time now, NodeId from, const Promote& promote, Outbox& out);
  void handle(Time now, NodeId from, const MirrorOf& mirror_of, Outbox& out);
  void handle(Time now, NodeId from, const Arbitrate& arbitrate, Outbox& out);
  void handle(Time now, NodeId from, const LeaderClaim& claim, Outbox& out);

  void hear(Time now, const Envelope& in, Outbox& out);
  void forward(Time now, NodeId from, const ToShard& message, Outbox& out);
  void act(Time now, const Envelope& in, Outbox& out);
  void keep_early(const Envelope& in);
  void act_on_forwarded(Time now);
  void fill(Time now, Outbox& out);
  void begin_anew(Time now);
  void join_again(Outbox& out);
  void drop_unheard(Time now, Outbox& out);
  [[nodiscard]] MirrorState state() const;
  void say(Outbox& out);
  void ignore() { ++ignored_; }

  const Shard::Options options_;
  std::optional<Shard> shard_;  // always set; replaced when a mirror is refilled or rejoins
  std::optional<Envelope> welcome_;
  std::optional<KnownMirror> mirror_;
  std::optional<Source> source_;
  std::optional<NodeId> named_;  // primary named by the scheduler, until it begins to fill this mirror
  std::uint64_t attempt_ = 0;    // the highest that the scheduler has named
  bool promoted_ = false;
  // Received messages: as primary, not acknowledged by the mirror; as mirror, not handled.
  std::deque<Waiting> waiting_;
  std::deque<Envelope> early_;  // as mirror: the latest messages from nodes other than its primary
  // Once promoted: nodes known to the lost primary that have not sent anything to this one.
  std::set<NodeId> unheard_;
  Time unheard_until_;
  Claims claims_;
  Time since_;  // as a mirror: arrival of the first of waiting_
  std::uint64_t ignored_ = 0;
};

}  // namespace steelyard
