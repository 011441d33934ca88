// Replica: a shard that is alone, the primary of a mirror, or a mirror.
//
// A shard is pure (protocol/machine.h): two that hear the same, in the same order, are the same. So the
// primary forwards to its mirror whatever it hears, and does nothing about it before the mirror has it:
//
//  primary  Replicate to the mirror, wait for ReplicateAck, then act. What it shows, its mirror could show.
//  mirror   ReplicateAck, then act, and say nothing. When the primary is lost, it is promoted and speaks in
//           its place.
//
// A primary that is cut off from its mirror does nothing more: the scheduler decides whether the mirror is
// promoted (Promote) or the primary goes on without (Mirror), never both. Of a mirror that is promoted,
// workers request again what the lost primary owed them, and push again what it had not shown. Who died with
// the primary does not: of a worker that sends nothing for ten seconds nothing is kept.
//
// A mirror is filled when nothing of an open round is in any slice: between two rounds where versions are
// exact, at a barrier elsewhere. It hears the state as if a checkpointer told it, and from then on what the
// primary hears. Until it has caught up the primary does not wait for it, within a limit, and it does not
// count.
//
// Whoever was taken for lost and is not begins anew, with nothing, as if its process had just been started.
//
// All sync modes are alike. Not filled again once the training has begun: hubs that differ, workers whose
// versions delay compensation keeps (CloseRule::is_in_slices), and what a NormLimit knows.
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

// Claims: what a shard knows of the scheduler and its standby, and which of the two it lets lead
// (protocol/optional_messages.h).
//
// A shard decides only where the scheduler has made it the arbiter, and only for the attempt that the
// scheduler named: a process that was started in a lost one's place knows of none and refuses. An answer
// holds: whoever asks again gets it again. A claimant that follows an earlier leader than one that the shard
// knows of is refused.
class Claims {
 public:
  // A scheduler of this generation leads.
  void lead(std::uint64_t generation) { generation_ = std::max(generation_, generation); }
  // The scheduler makes this shard the arbiter of this attempt. False: a later leader is known.
  bool arbitrate(const Arbitrate& it) {
    if (it.generation < generation_) return false;
    lead(it.generation);
    arbiter_of_ = it.attempt;
    return true;
  }
  // Whether the claimant leads. A scheduler needs no permission to ask, only that its standby gets no grant.
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
  static constexpr std::size_t most = 64;  // a standby whose attempt is forgotten is refused
  struct Grant {
    std::uint64_t attempt = 0;
    bool to_standby = false;
  };
  std::uint64_t generation_ = 0;
  std::optional<std::uint64_t> arbiter_of_;
  std::deque<Grant> granted_;
};

// What a primary knows of its mirror.
struct KnownMirror {
  NodeId node;
  bool begun = false;                 // it has been sent the state
  bool filled = false;                // it had all that we had, and has had ever since
  bool late = false;                  // it has not answered, and that is said
  std::uint64_t sent = 0, below = 0;  // messages; those below are there
  std::uint64_t room = 0;             // so many may be under way while it is filled
  Time asked;                         // since when something is under way, or when it last answered
  Duration slowest{};                 // answer so far
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
  // It has a mirror that may be in its place at any moment.
  [[nodiscard]] bool is_mirrored() const { return mirror_ && mirror_->filled && !mirror_->late; }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

 private:
  // Of its primary, as a mirror.
  struct Source {
    NodeId node;
    std::uint64_t next = 0;  // message
  };
  struct Waiting {
    std::uint64_t below = 0;  // so many messages are there with it
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
  std::optional<Shard> shard_;  // always there; made anew when a mirror is filled anew
  std::optional<Envelope> welcome_;
  std::optional<KnownMirror> mirror_;
  std::optional<Source> source_;
  std::optional<NodeId> named_;  // the primary that the scheduler named, until it begins to fill this mirror
  std::uint64_t attempt_ = 0;    // the highest that the scheduler has named
  bool promoted_ = false;
  std::deque<Waiting> waiting_;  // what was heard: until the mirror has it; as a mirror, until acted on
  std::deque<Envelope> early_;   // as a mirror: the last that others said to it itself
  // Once promoted: whom the lost primary knew, and who has sent nothing to this one yet.
  std::set<NodeId> unheard_;
  Time unheard_until_;
  Claims claims_;
  Time since_;  // as a mirror: when the first of them came
  std::uint64_t ignored_ = 0;
};

}  // namespace steelyard
