// LB-BSP (Chen, Weng, Wang, Li, Li: SoCC 2020, arXiv 1806.02508). On CPUs: shares in proportion to the speed
// that each worker is predicted to have in the coming round,
//
//   t_i = x_i / v_i,   minimise max t_i   =>   x_i = X v_i / sum_j v_j,
//
// rounded by largest remainder under the bounds. v_i is predicted from measured speeds (samples / seconds)
// and from the CPU share and memory that the worker reports before the round; the paper's predictor is NARX.
//
// What the sources leave open, decided here:
//  - a worker never measured counts as fast as the mean of the measured ones; the first plan is
//    an equal split;
//  - dead band: as long as the old split is still valid and its predicted times differ by less than 3 % of
//    their mean, it stays; but after 16 such rounds the split is solved again, so that a small lasting
//    difference is not frozen;
//  - a worker that is missing in a request is forgotten, and measured anew should its slot return.
//
// On GPUs, whose time does not go through the origin: no prediction, but a search that moves a few samples
// from the straggler to the leader (leader_straggler.h). It starts from an equal split, which is followed by
// one in proportion to the measured speeds as soon as all have one. A worker whose share is searched down to
// nothing is left out until the workers change ("restart without that worker"), if it may rest; else it keeps
// one sample.
//
// Mixed clusters (the paper is silent): all CPUs together are one party of the search. The straggler and
// the leader may then be of either kind. What the party has is divided so that, by their predicted speeds,
// all its CPUs are done as early as can be, in whole samples. A CPU that takes longer for one sample than
// the others for the rest has none, if it may rest; with one, it would be the straggler for all CPUs, and
// the search would take the samples of the good ones.
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
  PredictorTable own_predictors{};  // a user's, which are asked first
};

class LbBsp final : public Saved<Policy, LbBsp> {
 public:
  static constexpr char title[] = "lb-bsp.2";
  explicit LbBsp(LbBspOptions options = {});

  void observe(const Sample& sample) override;
  std::vector<std::uint64_t> plan(const Request& request) override;

  [[nodiscard]] LbBsp anew() const { return LbBsp(options_); }
  void serialize(auto& fields) {
    fields.by_slot(predictors_, [&](std::uint32_t slot) { return made_predictor(slot); });
    fields(split_, rested_, search_, last_, searching_, removed_);
  }

 private:
  static constexpr std::uint64_t longest_rest = 16;  // rounds in which the dead band may keep a split

  std::vector<std::uint64_t> plan_predicted(const Request& request);
  std::vector<std::uint64_t> plan_searched(const Request& request);
  void search(const Request& request);
  void move(const Request& request, const LeaderStraggler::Move& move);
  void divide_among_cpus(const Request& request, const std::vector<Bound>& bounds);
  [[nodiscard]] bool all_measured(const Request& request) const;

  // Of the worker in this slot; made if it has none yet.
  Predictor& predictor(std::uint32_t slot);
  [[nodiscard]] std::unique_ptr<Predictor> made_predictor(std::uint32_t slot) const;
  [[nodiscard]] std::vector<double> speeds(const Request& request) const;
  [[nodiscard]] bool may_stay(const Request& request, const std::vector<Bound>& bounds,
                              const std::vector<double>& speeds) const;

  LbBspOptions options_;
  std::map<std::uint32_t, std::unique_ptr<Predictor>>
      predictors_;            // by slot; only of workers that were measured
  Split split_;               // the last plan for a round of the usual length
  std::uint64_t rested_ = 0;  // rounds since it was solved
  // Of the search; without meaning where all workers are CPUs.
  LeaderStraggler search_;
  LastRound last_;
  bool searching_ = false;  // the split by measured speeds has been made
  std::set<std::uint32_t> removed_;
};

}  // namespace steelyard::balancing
