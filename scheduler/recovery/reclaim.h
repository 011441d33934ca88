// Reclaim: decides whether a restarted scheduler may lead again, if a standby counted when it was killed.
//
// The standby may have taken over meanwhile. Before any member can connect, the new process connects to the
// shards that the standby may have asked and claims the job from them, as a standby does. It leads if all of
// them grant the claim. It also claims the job from all other servers in its journal: one that knows of a
// later leader refuses.
//
// Pure. Owned and used by one thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/machine.h"
#include "scheduler/recovery/standby_feed.h"

namespace steelyard {

class Reclaim {
 public:
  enum class Answer { granted, refused, none };

  // `members`: from the journal. `wait`: timeout of the claim.
  Reclaim(Term term, const StandbyFeed::Follower& follower, const Members& members, Duration wait);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return next_; }
  [[nodiscard]] bool finished() const { return answer_.has_value(); }
  // none: not all of the deciding servers answered in time.
  [[nodiscard]] Answer answer() const { return answer_.value_or(Answer::none); }

 private:
  struct Asked {
    NodeId node;
    std::string endpoint;
  };
  const Term term_;
  const std::uint64_t attempt_, generation_;
  const Duration wait_;
  std::vector<Asked> asked_;      // all servers of the journal
  std::vector<NodeId> deciding_;  // those that still have to grant the claim
  std::optional<Time> since_;
  Time next_{};
  std::optional<Answer> answer_;
};

}  // namespace steelyard
