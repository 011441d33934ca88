// What is said of a standby: a scheduler on another machine that has the journal of the one that leads, and
// leads in its place when that is lost (scheduler/standby_feed.h, scheduler/standby.h).
#pragma once

#include <cstdint>
#include <string>

#include "wire/terms.h"

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

// Scheduler or standby -> shard: the other one is lost to me. Who says so first goes on, and the other ends.
struct Claim {
  Term term = 0;
  std::uint64_t attempt = 0;
};
struct Granted {  // shard -> who claimed
  std::uint64_t attempt = 0;
  bool granted = false;  // false: the other one was first
};

}  // namespace steelyard
