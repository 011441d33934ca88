// The baseline: all workers get the same, as far as the bounds allow. Ordinary synchronous SGD.
#pragma once

#include <steelyard/policy.h>

#include "balancing/state.h"

namespace steelyard::balancing {

class Equal final : public Saved<Policy, Equal> {
 public:
  static constexpr char title[] = "equal.1";
  void observe(const Sample&) override {}
  std::vector<std::uint64_t> plan(const Request& request) override;
  // There is no state, but a checkpoint still says whose it is: a job resumed with another policy should hear
  // of it.
  [[nodiscard]] Equal anew() const { return {}; }
  void serialize(auto&) {}
};

}  // namespace steelyard::balancing
