// When a member counts as silent or lost: the timeout of answers, unusual silence, the grace period after the
// scheduler was replaced, and when a lasting problem is reported again.
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

// Timeout after which a request is repeated: two heartbeats.
inline Duration timeout_of(const Job& job) { return from_seconds(2 * job.heartbeat); }

// Unusual silence: whether a member has been silent for unusually long.
//
// A process that hangs closes no connection. The threshold depends on the member's longest silence, because
// heartbeats of busy machines are often late. After a false alarm a share is computed twice or a mirror is
// refilled, but the result does not change. So the alarm comes long before the member is declared lost: after
// 4 times the heartbeat interval or 4 times the longest silence, whichever is more, but at least 1/5 of
// heartbeat_timeout.
inline constexpr int unusual_times = 4;
inline constexpr int unusual_part = 5;

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

// ReconnectGrace: defers connection losses in the first second after the scheduler's process was replaced,
// or had been stopped or disconnected from all members.
//
// Members reconnect automatically, possibly twice: first the transport, then the state machine above it,
// which closes the connection that the transport had opened. Such a close does not mean that the member is
// lost. Losses in that second are therefore judged at its end: a member that has sent nothing since its loss
// is lost.
class ReconnectGrace {
 public:
  static constexpr Duration lasts = std::chrono::seconds(1);

  void begin(Time now) { until_ = now + lasts; }
  // Returns true if the loss of this node's connection will be judged later.
  bool defers(Time now, NodeId node) {
    if (now >= until_) return false;
    lost_.insert(node);
    return true;
  }
  void heard(NodeId node) {
    if (!lost_.empty()) lost_.erase(node);
  }
  // After the grace period: the nodes that have sent nothing since their loss, once. Empty before.
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

// Reminder: when to report a lasting problem: after `first`, then each time that its duration has doubled.
class Reminder {
 public:
  // Call repeatedly while the problem lasts; assign a new Reminder when it is over.
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
  // Defers the next report until the problem has lasted this long.
  void not_before(Duration lasted) { next_ = std::max(next_, lasted); }

 private:
  std::optional<Time> since_;
  Duration next_{};

 public:
  void serialize(auto& fields) { fields(since_, next_); }
};

}  // namespace steelyard
