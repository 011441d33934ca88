// The baseline: all workers get equal shares, as far as the bounds allow. Ordinary synchronous SGD.
#pragma once

#include <steelyard/policy.h>

#include "balancing/state.h"

namespace steelyard::balancing {

class Equal final : public Saved<Policy, Equal> {
 public:
  static constexpr char title[] = "equal.1";
  void observe(const Sample&) override {}
  std::vector<std::uint64_t> plan(const Request& request) override;
  // There is no state, but a checkpoint still names the policy, so that resuming a job with another policy is
  // detected.
  [[nodiscard]] Equal anew() const { return {}; }
  void serialize(auto&) {}
};

}  // namespace steelyard::balancing
