// Delay compensation: what DC-ASGD adds to a gradient that was computed from parameters which moved since
// (Zheng et al., "Asynchronous stochastic gradient descent with delay compensation", ICML 2017, arXiv
// 1609.08326). With g = the mean gradient, w = the slice now, b = as this worker pulled it, all by element:
//
//   constant   g' = g + lambda * g^2 * (w - b)
//   adaptive   s' = 0.95 * s + 0.05 * g^2,  g' = g + lambda / sqrt(s' + 1e-7) * g^2 * (w - b)
//
// s is kept for each worker, from zero on, and not in checkpoints. g' goes into the job's update rule.
//
// For that it keeps, for each worker and slice, the version that was sent last, by reference: a model for
// each worker at the most. A push that was computed from another version stays as it is, and so does one
// after a worker's connection broke; both are counted.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "server/shard/slice_memory.h"
#include "protocol/messages.h"

namespace steelyard {

class DelayCompensation {
 public:
  explicit DelayCompensation(const SyncMode& mode) : kind_(mode.compensation), lambda_(mode.lambda) {}

  // The slice is sent to this worker as it is now.
  void answered(NodeId worker, const SliceMemory& slice);
  void forget(NodeId worker) { pulled_.erase(worker); }
  [[nodiscard]] bool knows_nobody() const { return pulled_.empty(); }
  // What the push is with the compensation: weight * g'. Of a mode without one: as it came.
  [[nodiscard]] Blob compensated(NodeId worker, const Push& push, SliceMemory& slice);
  [[nodiscard]] std::uint64_t missed() const { return missed_; }  // pushes of which the version was not known

 private:
  struct Pulled {
    Blob values;
    std::uint64_t steps = 0;     // that the slice had made
    std::vector<float> squares;  // s; adaptive only
  };
  Pulled* find(NodeId worker, const Push& push, const SliceMemory& slice);

  const SyncMode::Compensation kind_;
  const double lambda_;
  std::map<NodeId, std::map<std::uint64_t, Pulled>> pulled_;  // by the slice's place
  std::uint64_t missed_ = 0;
};

}  // namespace steelyard
