// Mirrors: which shards have a mirror, which mirrors are filled (have their primary's whole state), and the
// messages to both.
//
// The scheduler first sends MirrorOf, with the primary, to the mirror. It sends Mirror to the primary once
// the mirror has confirmed, so that the mirror can reject all other primaries.
//
// Either a primary or its mirror (server/mirror/replica.h) may be lost. A mirror can replace its primary once
// the primary reports it as filled under the latest attempt. From then on the primary waits for the mirror's
// acknowledgements, and only the scheduler decides which of the two continues:
//
//  the primary is lost    the mirror is promoted into its slot, and the roster is sent again
//  the mirror is lost     the primary continues without a mirror, under a higher attempt
//  the mirror is late     as lost; if it still sends heartbeats it is refilled, after growing pauses
//
// Changes the members; sends messages to primaries and mirrors, but none to workers.
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

  // A shard or a mirror joined this slot. If both are present, starts to fill the mirror.
  void joined(std::uint32_t slot, Outbox& out);
  // Records a message from this node. Returns false if it is not a mirror.
  bool heard(Time now, NodeId from);
  // The MirrorState that a primary reports about its mirror, or a mirror about itself.
  void heard(Time now, NodeId from, const MirrorState& said, Outbox& out);
  // Removes a lost mirror; `why` is the reason, for the log. Returns false if the node is not a mirror.
  bool lose(NodeId mirror, const std::string& why, Outbox& out);
  // Whether the primary has been silent for unusually long, while its filled mirror sent a message recently.
  [[nodiscard]] bool better_than(const ShardMember& primary, Time now) const;
  // The primary in this slot is lost. Returns true if its mirror took its place, false if none is filled.
  bool promote(std::uint32_t slot, Outbox& out);
  void beat(Outbox& out) const;
  void give_up_silent(const std::function<bool(const MirrorMember&)>& gone, Outbox& out);

  // Whether a mirror was lost since the last call, so that the roster has changed.
  bool take_lost() { return std::exchange(lost_, false); }

  // Whether every shard has a filled mirror, or the job has no replicas.
  [[nodiscard]] bool all_filled() const;

 private:
  void name_primary(const MirrorMember& mirror, Outbox& out) const;
  void tell(const ShardMember& primary, Outbox& out) const;
  void fill_anew(Time now, const ShardMember& primary, MirrorMember& mirror, Outbox& out);

  const Job& job_;
  const Term term_;
  Members& members_;
  std::map<std::uint32_t, std::uint64_t> attempts_;  // by slot: the latest attempt sent
  bool lost_ = false;

 public:
  void serialize(auto& fields) { fields(attempts_); }
};

}  // namespace steelyard
