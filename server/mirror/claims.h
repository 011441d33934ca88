// Claims: what a shard knows of the scheduler and its standby, and which of the two it lets lead
// (protocol/optional_messages.h).
//
// A shard decides only where the scheduler has made it the arbiter, and only for the attempt that the
// scheduler named: a process that was started in a lost one's place knows of none and refuses. An answer
// holds: whoever asks again gets it again. A claimant that follows an earlier leader than one that the shard
// knows of is refused.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "protocol/optional_messages.h"

namespace steelyard {

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

}  // namespace steelyard
