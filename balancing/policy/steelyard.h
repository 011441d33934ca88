// `steelyard`, our own policy and the default of the house.
//
//   T_i       the time of worker i over its share, learned on line (cost/cost_filter.h)
//   x*        = argmin max_i T_i(x_i), sum x_i = X: exact, in integers, under the bounds; 0 for who may rest
//   move      if max T(x) - max T(x*) > max(least_gain, caution * doubt) * max T(x), else x stays
//
// What it does beyond the published methods:
//  - fixed costs and speeds are learned apart, so the split is right two rounds after the start;
//  - a sudden change is believed when the next round confirms it. If in this job changes have lasted so far
//    (two at least, and three times as many as were accidents), the first round is enough;
//  - on CPUs the share of the machine and the memory that were left at the last report move the split without
//    waiting for the time to confirm it, once they have been seen to matter;
//  - a worker without whom the round is faster, and surely so, rests. It
//    is tried again with one sample, at first after 8 rounds, or after 40 times the rounds that a trial costs
//    if that is later (100, if it never was of use), and each time after twice as many, up to ten times the
//    first; or with another whose trial takes as long.
//    Because any one worker alone is a split too, the plan is never slower in its own model than the best
//    single worker;
//  - so does a worker for whom alone the rounds wait longer than its share is worth (cost/waited_for.h), now
//    and on average:
//        L_i > max T without i - max T.
//    It is called back after 64 rounds, and each time after twice as many, and has to be that late again;
//  - whose link costs surely more than the others' (cost/exchange_cost.h) has that much less time to compute.
//    It pushes as much as it pulls, so what it waits for its parameters counts twice;
//  - no share moves by more than a twentieth on the word of one round: the next one has to agree;
//  - a newcomer counts as its profile says, or as the mean of the others, and is known after its first
//    round.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "balancing/allocate/bounds.h"
#include "balancing/cost/cost_filter.h"
#include "balancing/cost/exchange_cost.h"
#include "balancing/cost/profile.h"
#include "balancing/cost/waited_for.h"
#include "balancing/policy.h"
#include "balancing/policy/last_round.h"
#include "balancing/policy/split.h"

namespace steelyard::balancing {

struct SteelyardOptions {
  double least_gain = 0.003;  // relative, below which nothing moves whatever is known
  double caution = 0.25;      // of the doubt about the slowest worker's time; 0: always solve
  Profile profile{};          // believed until something else is measured; may be empty
};

class Steelyard final : public Policy {
 public:
  explicit Steelyard(SteelyardOptions options = {}) : options_(std::move(options)) {}

  void observe(const Sample& sample) override;
  std::vector<std::uint64_t> plan(const Request& request) override;
  [[nodiscard]] std::unique_ptr<Policy> clone() const override { return std::make_unique<Steelyard>(*this); }
  [[nodiscard]] std::string save() const override;
  void restore(const std::string& text) override;

 private:
  struct Rest {
    std::uint64_t until = 0;     // round of the next trial
    std::uint64_t interval = 0;  // rounds of this rest
    bool trying = false;         // it has a sample again, and is judged by it
    bool late = false;           // not its curve, but how long the rounds waited for it sent it there
  };
  using Shares = std::vector<std::uint64_t>;

  void forget_absent(const Request& request);
  void look_up(const Request& request);  // in the profile, if there is one
  void compare_links();                  // once all have reported
  void see_who_was_late(const Request& request, const std::vector<Affine>& curves);  // then too
  [[nodiscard]] std::vector<Affine> curves(const Request& request) const;
  // Seconds to pull and to push beyond what the best link takes.
  [[nodiscard]] double exchange(std::uint32_t slot) const;
  // The exact split, after who has to rest was sent to rest and who is to be tried was called back.
  Shares solve(const Request& request, const std::vector<Affine>& curves);
  void call_back(const Request& request, const std::vector<Affine>& curves);
  [[nodiscard]] std::set<std::uint32_t> resting() const;
  bool send_to_rest(const Request& request, const std::vector<Affine>& curves, const Shares& all,
                    const std::vector<Bound>& limits);
  bool send_the_late_to_rest(const Request& request, const std::vector<Affine>& curves, const Shares& all);
  [[nodiscard]] Shares held_back(const Request& request, const std::vector<Affine>& curves,
                                 Shares best) const;
  [[nodiscard]] bool worth_a_move(const Request& request, const std::vector<Affine>& curves,
                                  const Shares& best) const;
  [[nodiscard]] bool changes_last() const;

  SteelyardOptions options_;
  std::map<std::uint32_t, CostFilter> workers_;  // by slot, of those that were measured
  Walk walk_;                                    // of the last plan
  std::map<std::uint32_t, Cubic> profiled_;      // by slot; of the job, and not of a checkpoint
  std::map<std::uint32_t, ExchangeCost> links_;  // by slot, where samples tell of it
  std::map<std::uint32_t, WaitedFor> waited_;    // by slot, of those that worked
  std::map<std::uint32_t, Rest> rests_;          // by slot, of those that rest or did until lately
  double exchange_ = -1;                         // seconds, of who is done with it first; -1: unknown
  LastRound last_;
  Split split_;                               // the last plan for a round of the usual length
  Split wish_;                                // the best split when that was planned
  std::uint64_t lasted_ = 0, accidents_ = 0;  // sudden changes so far, of all workers
};

}  // namespace steelyard::balancing
