// The baseline: all workers get the same, as far as the bounds allow. Ordinary synchronous SGD.
#pragma once

#include <steelyard/policy.h>

namespace steelyard::balancing {

class Equal final : public Policy {
 public:
  void observe(const Sample&) override {}
  std::vector<std::uint64_t> plan(const Request& request) override;
  [[nodiscard]] std::string save() const override;
  void restore(const std::string& text) override;
};

}  // namespace steelyard::balancing
