// Mirrors: which shards have one, which may be trusted, and what is said to both sides.
//
// A mirror is named its primary first, and the primary is told of its mirror when that has confirmed it: so a
// mirror can refuse all others.
//
// Of a primary and its mirror (server/mirror/replica.h) one may be lost. A mirror counts from when its
// primary says that it is filled, under the latest attempt; from then on the primary waits for its word, and
// the scheduler alone decides which of the two goes on:
//
//  the primary is lost    the mirror is promoted into its slot, and the roster is told anew
//  the mirror is lost     the primary is told to go on without, under a higher attempt
//  the mirror is late     as lost; one that still gives signs of life is filled anew, after pauses that grow
//
// Changes the members, and sends what primaries and mirrors are to know. Says nothing to workers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "protocol/machine.h"
#include "scheduler/members/members.h"
#include "scheduler/rounds/dispatch.h"

namespace steelyard {

class Mirrors {
 public:
  // Both belong to the caller and outlive this.
  Mirrors(const Job& job, Term term, Members& members) : job_(job), term_(term), members_(members) {}

  // A shard or a mirror has joined this slot: its primary, if it is there, is told of its mirror, if that is.
  void joined(std::uint32_t slot, Outbox& out);
  // Whether this is a mirror's word. It is noted that it lives.
  bool heard(Time now, NodeId from);
  // What a primary says of its mirror, or a mirror of itself.
  void heard(Time now, NodeId from, const MirrorState& said, Outbox& out);
  // This mirror is gone, as `why` says. False: it is none.
  bool lose(NodeId mirror, const std::string& why, Outbox& out);
  // The primary has been silent for unusually long, and its mirror, which is filled, just now.
  [[nodiscard]] bool better_than(const ShardMember& primary, Time now) const;
  // The primary in this slot is lost. Whether its mirror has taken its place.
  bool promote(std::uint32_t slot, Outbox& out);
  void beat(Outbox& out) const;
  void give_up_silent(const std::function<bool(const MirrorMember&)>& gone, Outbox& out);

  // Whether a mirror was lost since this was asked last: the roster names another one, or none.
  bool take_lost() { return std::exchange(lost_, false); }

  // Every shard has one that is filled, or the job wants none.
  [[nodiscard]] bool all_filled() const;

 private:
  void name_primary(const MirrorMember& mirror, Outbox& out) const;
  void tell(const ShardMember& primary, Outbox& out) const;
  void fill_anew(Time now, const ShardMember& primary, MirrorMember& mirror, Outbox& out);

  const Job& job_;
  const Term term_;
  Members& members_;
  std::map<std::uint32_t, std::uint64_t> attempts_;  // by slot: the last that was said
  bool lost_ = false;

 public:
  void serialize(auto& fields) { fields(attempts_); }
};

}  // namespace steelyard
