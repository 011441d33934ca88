// LeftOut: the workers that a method's own program leaves out of the rounds (B_i = 0), and when each is tried
// again.
//
// A worker that a solution gives nothing is first tried, as its model may be wrong: it gets one sample in one
// round, and the program is solved again with the time that it took. If the trial fails, that is if it gets
// nothing again, it rests. It then sends no times, so it is tried again after
//
//   max(least, cost / gain)  rounds,    cost = T_i(1) - T,    gain = T v_i / sum_j v_j,    v = 1 / per_sample
//
// and after twice as many whenever a trial fails. T: longest time of the solution. cost: seconds by which the
// trial lengthens its round. gain: seconds per round that the worker would save if its fixed cost were gone.
// If the worker has recovered and stays for as long as it has rested, its trial has paid for itself.
//
// For LBB and BOA, whose sources do not specify it. `steelyard` has its own rule
// (policy/steelyard/policy_rests.h).
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "balancing/allocate/split.h"
#include "balancing/cost/curves.h"

namespace steelyard::balancing {

class LeftOut {
 public:
  // Bounds of the next plan: 0 for workers that rest, 1 for those on trial. If the others cannot take the
  // round, the bounds are those of share_bounds(request).
  [[nodiscard]] std::vector<Bound> bounds(const Request& request) const;
  // Bounds of a solution: 0 is allowed for all workers that may rest, and required of those that rest.
  [[nodiscard]] std::vector<Bound> bounds_to_solve(const Request& request) const;

  // Records a solution: which workers it leaves out, and how the trials ended. `curves` and `shares` are in
  // the request's order; the rounds are counted from request.round.
  void settle(const Request& request, const std::vector<Affine>& curves,
              const std::vector<std::uint64_t>& shares, std::uint64_t least);

  // Starts the trials that are due. Returns their slots; what is known of these workers is out of date.
  std::set<std::uint32_t> start_trials(const Request& request);
  // Whether a worker is on trial. Once it is measured, solve again and call settle().
  [[nodiscard]] bool trying() const;

  void forget_all_but(const std::set<std::uint32_t>& present) { keep_only(present, rests_); }
  void serialize(auto& fields) { fields(rests_); }

 private:
  static constexpr std::uint64_t longest_rest = 1 << 20;  // rounds

  struct Rest {
    std::uint64_t until = 0;  // round of its trial
    std::uint64_t next = 0;   // rounds of the next rest
    bool trying = false;
    void serialize(auto& fields) { fields(until, at_most(longest_rest, next), trying); }
  };

  std::map<std::uint32_t, Rest> rests_;  // by slot
};

}  // namespace steelyard::balancing
