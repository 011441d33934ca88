// LB-BSP (Chen, Weng, Wang, Li, Li: SoCC 2020, arXiv 1806.02508). On CPUs: shares in proportion to the speed
// predicted for each worker in the coming round,
//
//   t_i = x_i / v_i,   minimise max t_i   =>   x_i = X v_i / sum_j v_j,
//
// rounded by largest remainder under the bounds. v_i is predicted from measured speeds (samples / seconds)
// and from the CPU share and memory that the worker reads before the round; the paper's predictor is NARX.
// It is trained with the readings that it was asked with (Sample::planned_cpu).
//
// Decided here, as the sources leave it open:
//  - a worker never measured counts as the mean of the measured ones; the first plan is an equal split;
//  - dead band: the old split stays while it is valid and its predicted times differ by less than 3 % of
//    their mean; after 16 such rounds the split is solved again, so that a small lasting difference is not
//    frozen;
//  - a worker missing in a request is forgotten, and measured anew if its slot returns.
//
// On GPUs, where time is not proportional to samples: no prediction, but a search that moves a few samples
// from the straggler to the leader (leader_straggler.h). It starts from an equal split, followed by one in
// proportion to the measured speeds once all are known. If the search reduces the share of a worker to
// nothing, the worker is left out until the workers change ("restart without that worker"), if it may rest;
// otherwise it keeps one sample.
//
// Mixed clusters (not covered by the paper): all CPUs together are one party of the search, so straggler and
// leader may be of either kind. The samples of the CPUs are divided, in whole samples, so that all CPUs are
// predicted to finish as early as possible. A CPU that takes longer for one sample than the others for the
// rest gets none, if it may rest: with one sample it would make all CPUs together the straggler, and the
// search would take samples from the fast CPUs.
#pragma once

#include <steelyard/policy.h>

#include <map>
#include <set>
#include <vector>

#include "balancing/allocate/bounds.h"
#include "balancing/allocate/split.h"
#include "balancing/policy/lb_bsp/leader_straggler.h"
#include "balancing/predict/predictors.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct LbBspOptions {
  std::string predictor = "narx";  // a name of predict/predictors.h
  double dead_band = 0.03;  // relative spread of predicted times below which nothing moves; 0: always solve
  PredictorTable own_predictors{};  // a user's, searched first
};

class LbBsp final : public Saved<Policy, LbBsp> {
 public:
  static constexpr char title[] = "lb-bsp.3";
  explicit LbBsp(LbBspOptions options = {});

  void observe(const Sample& sample) override;
  std::vector<std::uint64_t> plan(const Request& request) override;

  [[nodiscard]] LbBsp anew() const { return LbBsp(options_); }
  void serialize(auto& fields) {
    fields(gpus_);  // before the predictors: it decides their kind
    fields.by_slot(predictors_, [&](std::uint32_t slot) { return made_predictor(slot); });
    fields(split_, rested_, search_, last_, searching_, removed_);
  }

 private:
  static constexpr std::uint64_t longest_rest = 16;  // rounds for which the dead band may keep a split

  std::vector<std::uint64_t> plan_predicted(const Request& request);
  std::vector<std::uint64_t> plan_searched(const Request& request);
  void search(const Request& request);
  void move(const Request& request, const LeaderStraggler::Move& move);
  void divide_among_cpus(const Request& request, const std::vector<Bound>& bounds);
  [[nodiscard]] bool all_measured(const Request& request) const;

  // The predictor of this slot; made if it does not exist yet.
  Predictor& predictor(std::uint32_t slot);
  [[nodiscard]] std::unique_ptr<Predictor> made_predictor(std::uint32_t slot) const;
  void note_kinds(const Request& request);
  [[nodiscard]] std::vector<double> speeds(const Request& request) const;
  [[nodiscard]] bool may_stay(const Request& request, const std::vector<Bound>& bounds,
                              const std::vector<double>& speeds) const;

  LbBspOptions options_;
  std::set<std::uint32_t> gpus_;                                    // slots, as in the last plan
  std::map<std::uint32_t, std::unique_ptr<Predictor>> predictors_;  // by slot; only of measured workers
  Split split_;               // the last plan for a round of the usual length
  std::uint64_t rested_ = 0;  // rounds since it was solved
  // State of the search; unused if all workers are CPUs.
  LeaderStraggler search_;
  LastRound last_;
  bool searching_ = false;  // the split by measured speeds has been made
  std::set<std::uint32_t> removed_;
};

}  // namespace steelyard::balancing
