// Reclaim: whether a scheduler that was killed while a standby counted may lead again.
//
// The standby may have taken over meanwhile. So the process that takes the place of the killed one asks
// before anybody can connect to it: it claims the job from the shards that its standby may have asked, over
// connections that it makes itself, as a standby does. It leads if all of them grant that. It asks all other
// servers of its journal too: each that knows of a later leader refuses for the job.
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

  // `members` as the journal has them. `wait`: how long it asks.
  Reclaim(Term term, const StandbyFeed::Follower& follower, const Members& members, Duration wait);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return next_; }
  [[nodiscard]] bool finished() const { return answer_.has_value(); }
  // none: too few have answered.
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
  std::vector<NodeId> deciding_;  // those of them whose grant is still missing
  std::optional<Time> since_;
  Time next_{};
  std::optional<Answer> answer_;
};

}  // namespace steelyard
