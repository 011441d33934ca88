// What is said of a standby: a scheduler on another machine that has the journal of the one that leads, and
// leads in its place when that is lost (scheduler/recovery/standby_feed.h, scheduler/recovery/standby.h).
#pragma once

#include <cstdint>
#include <string>

#include "protocol/node.h"
#include "protocol/terms.h"

namespace steelyard {

// Standby -> scheduler, repeated until answered: let me have the journal. Each time of following has a number
// of its own, drawn at random.
struct Follow {
  std::string build;  // only the same reads the journal
  std::uint64_t attempt = 0;
};
// Scheduler -> standby: the journal follows, from its first byte on.
struct Following {
  std::uint64_t attempt = 0;
  std::int64_t now = 0;   // ns on the scheduler's clock
  std::string refusal{};  // not empty: no, and why
};
struct JournalPart {  // scheduler -> standby, in order
  std::uint64_t attempt = 0;
  std::uint64_t begin = 0;  // of `bytes` in the journal
  std::string bytes{};
};
struct JournalAck {  // standby -> scheduler: I have all below
  std::uint64_t attempt = 0;
  std::uint64_t below = 0;
};

// Scheduler -> shard: this shard decides between the scheduler and its standby of this attempt, should they
// lose each other. A standby counts once the shard has confirmed that, and a shard grants no other attempt.
struct Arbitrate {
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint64_t generation = 0;  // of the scheduler
};
struct Arbitrates {  // shard -> scheduler
  std::uint64_t attempt = 0;
};

// Scheduler or standby -> shard: the other one is lost to me. The first to claim an attempt goes on, and the
// other ends.
struct Claim {
  Term term = 0;
  std::uint64_t attempt = 0;
  NodeId shard{};                // that is asked; another process at its endpoint does not answer
  std::uint64_t generation = 0;  // of the scheduler that the claimant is, or follows
  bool standby = false;  // the standby claims; false: the scheduler, or one that was restarted in its place
};
struct Granted {  // shard -> who claimed
  std::uint64_t attempt = 0;
  bool granted = false;  // false: the other one was first
};

}  // namespace steelyard
