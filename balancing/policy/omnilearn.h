// OmniLearn (Tyagi, Sharma: arXiv 2503.17469, 2025) and the earlier dynamic batching (Tyagi, Sharma: ACSOS
// 2020, arXiv 2305.12213): a proportional controller that brings all workers to the mean iteration time,
//
//   tau_k   = t_k - mean_j t_j                   the error; t_k smoothed since the last adjustment
//   delta_k = -X_k tau_k,   X_k = b_k / t_k      seconds of error times throughput are samples
//   b_k    <- b_k + gain delta_k                 only if some |delta_k| / b_k is above the dead band
//
// With gain 1, as in the papers, the new batch is b_k mean(t) / t_k: exact at once if times are in proportion
// to the batch, and after some adjustments with fixed costs. No model of the time is kept.
//
// We could only open the papers' abstracts again; the equation and the dead band of 0.05 are not checked
// against their text. Ours: the smoothing factor; batches are scaled to the round's positions, as the global
// batch is fixed; the first split is equal, since the machines are unknown (theirs: by FLOPS); bounds are
// those of the request, and none is learned from a falling throughput. No worker rests.
#pragma once

#include <steelyard/policy.h>

#include <map>

#include "balancing/allocate/split.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct OmniLearnOptions {
  double gain = 1;          // of the controller, above 0
  double dead_band = 0.05;  // relative change of a batch below which nothing moves
  double smoothing = 0.3;   // weight of the newest time; 1: no smoothing
};

class OmniLearn final : public Saved<Policy, OmniLearn> {
 public:
  static constexpr char title[] = "omnilearn.1";
  explicit OmniLearn(OmniLearnOptions options = {}) : options_(options) {}

  void observe(const Sample& sample) override { last_.add(sample); }
  std::vector<std::uint64_t> plan(const Request& request) override;

  [[nodiscard]] OmniLearn anew() const { return OmniLearn(options_); }
  void serialize(auto& fields) {
    fields(seconds_, last_, split_);
    for (const auto& [slot, seconds] : seconds_) {
      fields.require(possible_time(seconds), "no round takes that long");
    }
  }

 private:
  void smooth();
  void adjust(const Request& request, const std::vector<Bound>& bounds);

  OmniLearnOptions options_;
  std::map<std::uint32_t, double> seconds_;  // by slot, of its share, smoothed since the last adjustment
  LastRound last_;
  Split split_;
};

}  // namespace steelyard::balancing
