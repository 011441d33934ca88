// `oracle`: knows the true curve of every worker in every round, future events included, but not the noise.
//
// The reference for "percent of ideal" (its time over the measured time, with the same random numbers), not a
// policy for jobs. It returns the exact integer min-max of the true curves, and leaves out workers that would
// only delay the round.
#pragma once

#include <steelyard/policy.h>

#include <functional>

#include "balancing/allocate/min_max.h"
#include "balancing/state.h"

namespace steelyard::balancing {

// The curve, over samples, of the worker in a slot in a round; non-decreasing, as min_max() requires.
using TrueCurves = std::function<Curve(std::uint32_t slot, std::uint64_t round)>;

class Oracle final : public Saved<Policy, Oracle> {
 public:
  static constexpr char title[] = "oracle.1";
  explicit Oracle(TrueCurves truth) : truth_(std::move(truth)) {}

  void observe(const Sample&) override {}
  std::vector<std::uint64_t> plan(const Request& request) override;
  [[nodiscard]] Oracle anew() const { return Oracle(truth_); }
  void serialize(auto&) {}

 private:
  TrueCurves truth_;
};

}  // namespace steelyard::balancing
