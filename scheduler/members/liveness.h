// When a member counts as silent or lost: how long an answer may take, how long this member is usually
// silent, the second after a change of schedulers, and when a lasting trouble is reported again.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "core/time.h"
#include "protocol/job.h"
#include "protocol/messages.h"
#include "protocol/node.h"

namespace steelyard {

// How long an answer may take before the question is repeated: two heartbeats.
inline Duration timeout_of(const Job& job) { return from_seconds(2 * job.heartbeat); }

// How long a member has not been heard, and whether that is unusual for it.
//
// A process that hangs closes no connection. What is unusual follows from the member's own history: machines
// that are busy are heard late, and again and again. A false alarm costs a share that is computed twice, or a
// mirror that is filled anew, and never the result; so it may come long before a member counts as lost.
inline constexpr int unusual_times = 4;  // a heartbeat, and the longest silence so far
inline constexpr int unusual_part = 5;   // of heartbeat_timeout, at least

// `member` has a last_heard and a longest_silence.
template <class Member>
void heard(Member& member, Time now) {
  member.longest_silence = std::max<Duration>(member.longest_silence, now - member.last_heard);
  member.last_heard = now;
}

template <class Member>
[[nodiscard]] bool unusually_silent(const Member& member, Time now, const Job& job) {
  const Duration usual = std::max<Duration>(member.longest_silence, from_seconds(job.heartbeat));
  const Duration shortest = from_seconds(job.heartbeat_timeout / unusual_part);
  return now - member.last_heard > std::max<Duration>(shortest, unusual_times * usual);
}

// ReconnectGrace: lost connections in the first second after the scheduler's process was replaced, was
// stopped, or was cut off from all members.
//
// Members connect again by themselves, and may do so twice: the transport first, the machine behind it a
// moment later, which closes what the transport had opened. Such an end says nothing of its member. So
// whoever is lost in that second is judged when it is over: gone is who has not been heard since.
class ReconnectGrace {
 public:
  static constexpr Duration lasts = std::chrono::seconds(1);

  void begin(Time now) { until_ = now + lasts; }
  // Whether the loss of this node's connection is judged later.
  bool defers(Time now, NodeId node) {
    if (now >= until_) return false;
    lost_.insert(node);
    return true;
  }
  void heard(NodeId node) {
    if (!lost_.empty()) lost_.erase(node);
  }
  // When it is over: who has not been heard again. Once.
  std::vector<NodeId> gone(Time now) {
    if (now < until_) return {};
    const std::vector<NodeId> nodes(lost_.begin(), lost_.end());
    lost_.clear();
    return nodes;
  }

 private:
  Time until_{};
  std::set<NodeId> lost_;

 public:
  void serialize(auto& fields) { fields(until_, lost_); }
};

// Reminder: when it is time for another word about something that lasts: after `first`, and each time after
// twice as long.
class Reminder {
 public:
  // Asked again and again, for as long as it lasts; a new Reminder begins anew.
  bool due(Time now, Duration first) {
    if (!since_) {
      since_ = now;
      next_ = first;
    }
    if (now - *since_ < next_) return false;
    next_ *= 2;
    return true;
  }
  [[nodiscard]] Duration lasted(Time now) const { return since_ ? now - *since_ : Duration{}; }
  // Nothing before it has lasted so long.
  void not_before(Duration lasted) { next_ = std::max(next_, lasted); }

 private:
  std::optional<Time> since_;
  Duration next_{};

 public:
  void serialize(auto& fields) { fields(since_, next_); }
};

}  // namespace steelyard
