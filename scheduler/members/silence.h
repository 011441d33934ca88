// How long a member has not been heard, and whether that is unusual for it.
//
// A process that hangs closes no connection. What is unusual follows from the member's own history: machines
// that are busy are heard late, and again and again. A false alarm costs a share that is computed twice, or a
// mirror that is filled anew, and never the result; so it may come long before a member counts as lost.
#pragma once

#include <algorithm>

#include "core/time.h"
#include "protocol/job.h"

namespace steelyard {

inline constexpr int unusual_times = 4;  // a heartbeat, and the longest silence so far
inline constexpr int unusual_part = 5;   // of dead_after, at least

// `member` has a last_heard and a longest_silence.
template <class Member>
void heard(Member& member, Time now) {
  member.longest_silence = std::max<Duration>(member.longest_silence, now - member.last_heard);
  member.last_heard = now;
}

template <class Member>
[[nodiscard]] bool unusually_silent(const Member& member, Time now, const Job& job) {
  const Duration usual = std::max<Duration>(member.longest_silence, from_seconds(job.heartbeat));
  const Duration shortest = from_seconds(job.dead_after / unusual_part);
  return now - member.last_heard > std::max<Duration>(shortest, unusual_times * usual);
}

}  // namespace steelyard
