// Claims: between a scheduler and its standby, who was first (wire/standby.h).
//
// A word once given holds: whoever asks again gets the same answer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "wire/node.h"

namespace steelyard {

class Claims {
 public:
  // Whether this one goes on, and not the other one of that attempt.
  bool grant(std::uint64_t attempt, Role claimant) {
    const auto known = std::ranges::find(granted_, attempt, &Grant::attempt);
    if (known != granted_.end()) return known->to == claimant;
    granted_.push_back({attempt, claimant});
    if (granted_.size() > most) granted_.pop_front();
    return true;
  }

 private:
  static constexpr std::size_t most = 64;  // each is of another standby, or of one that came back
  struct Grant {
    std::uint64_t attempt = 0;
    Role to = Role::scheduler;
  };
  std::deque<Grant> granted_;
};

}  // namespace steelyard
