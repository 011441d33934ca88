// `steelyard`, our own policy and the default.
//
//   T_i(b)   the time of worker i over its share, learned on line (cost/cost_filter.h)
//   x*       = argmin max_i T_i(x_i), sum x_i = X: exact, in integers, under the bounds; 0 at rest
//
// Each of its parts is a class:
//  - CostFilter: the time of one worker. Fixed costs and speeds are learned separately, so the split is right
//    two rounds after the start. A sudden change is followed when the next round confirms it, or at once if
//    changes have lasted so far in this job;
//  - Links: a worker with a link that certainly costs more than the best one has that much less time;
//  - Waits: how long rounds wait for each worker, and what each is worth;
//  - Rests: which workers rest, and the next trial;
//  - Move: when shares move.
// A new worker counts as its profile says, or as the mean of the others, and is known after its first round.
// A CPU beside GPUs may be five or two hundred times slower: until it is measured, it counts as 32 times as
// slow as a GPU, about the geometric mean. If it counted as equal, the first round would take as long as
// dozens of rounds of the GPU alone.
#pragma once

#include <steelyard/policy.h>

#include <map>
#include <vector>

#include "balancing/allocate/split.h"
#include "balancing/cost/cost_filter.h"
#include "balancing/cost/curves.h"
#include "balancing/policy/steelyard/move.h"
#include "balancing/policy/steelyard/policy_rests.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct SteelyardOptions {
  MoveOptions move{};
  Profile profile{};  // if not empty, used instead of WorkerView::profile
  Rules rules{};      // for the ablation bench
};

class Steelyard final : public Saved<Policy, Steelyard> {
 public:
  static constexpr char title[] = "steelyard.7";
  explicit Steelyard(SteelyardOptions options = {});

  void observe(const Sample& sample) override;
  std::vector<std::uint64_t> plan(const Request& request) override;
  [[nodiscard]] std::vector<std::uint32_t> beside_round() const override { return beside_round_; }

  [[nodiscard]] Steelyard anew() const { return Steelyard(options_); }
  void serialize(auto& fields) {
    fields.by_slot(workers_, [&](std::uint32_t) { return CostFilter(options_.rules); });
    fields(last_, links_, waits_, rests_, move_, lasted_, accidents_, profiled_, walk_.passes, walk_.steps,
           walk_.batch);
  }

 private:
  void forget_absent(const Request& request);
  void look_up(const Request& request);  // in the profile, if any
  [[nodiscard]] Signals heard(double cpu, double memory) const;
  [[nodiscard]] bool changes_last() const;
  [[nodiscard]] std::vector<Affine> curves(const Request& request,
                                           const std::vector<double>& link_seconds) const;
  [[nodiscard]] std::vector<std::uint64_t> best_split(const Request& request,
                                                      const std::vector<Affine>& curves);
  [[nodiscard]] std::vector<Move::Known> known_for_move(const Request& request) const;

  SteelyardOptions options_;
  std::map<std::uint32_t, CostFilter> workers_;  // by slot, of measured workers
  Walk walk_;                                    // of the last plan
  std::map<std::uint32_t, Cubic> profiled_;      // by slot, over grains
  LastRound last_;
  Links links_;
  Waits waits_;
  Rests rests_;
  Move move_;
  std::vector<std::uint32_t> beside_round_;   // of the last plan
  std::uint64_t lasted_ = 0, accidents_ = 0;  // sudden changes so far, over all workers
};

}  // namespace steelyard::balancing
