// Wraps a policy so that it gets the CPU share of a worker's last report, not that of the coming round. The
// scheduler does the same.
#pragma once

#include <steelyard/policy.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace steelyard::balancing::arena {

class LateSignals final : public Policy {
 public:
  explicit LateSignals(std::unique_ptr<Policy> policy) : policy_(std::move(policy)) {}

  void observe(const Sample& sample) override {
    cpu_[sample.slot] = sample.cpu;
    policy_->observe(sample);
  }
  std::vector<std::uint64_t> plan(const Request& request) override {
    Request late = request;
    for (WorkerView& worker : late.workers) {
      const auto found = cpu_.find(worker.slot);
      worker.cpu = found == cpu_.end() ? -1 : found->second;
    }
    return policy_->plan(late);
  }
  [[nodiscard]] std::string save() const override { return policy_->save(); }
  void restore(const std::string& text) override { policy_->restore(text); }

 private:
  std::unique_ptr<Policy> policy_;
  std::map<std::uint32_t, double> cpu_;  // by slot, as last reported
};

}  // namespace steelyard::balancing::arena
