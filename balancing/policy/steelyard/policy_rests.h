// Rests: which workers are left out of the rounds, and when each is tried again.
//
// A worker rests if the round is certainly faster without it. It is tried again with one sample, after
//
//   max(12, sqrt(2 cost / (gain * chance)))    rounds
//   chance = worked^2 / (worked^2 + 70^2) / (rested + 12)
//
// which minimises the cost of the trials plus that of the rounds lost before it returns. cost: seconds by
// which the trial is longer than the round. gain: seconds per round that it saved while it worked. chance:
// probability per round that it has recovered. The first factor of the chance is near 1 for a worker that was
// useful for long. The second assumes that a state that has lasted n rounds lasts about n more.
//
// If the sample would take longer than the round, the worker may compute it beside the round, while another
// one computes it too (Policy::beside_round()). Until its time arrives it gets no samples.
//
// A worker also rests if the rounds wait for it alone, and longer than they would take without it
// (WaitedFor). It returns after 64 rounds, the next time after twice as many, and is judged anew.
//
// A single worker alone is also a possible split, so the plan is never slower, in its own model, than the
// best single worker.
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "balancing/allocate/split.h"
#include "balancing/cost/curves.h"
#include "balancing/cost/rules.h"

namespace steelyard::balancing {

// Rounds until a trial pays off, on average. `worked`, `rested`: rounds. The seconds are as above.
double until_trial(double cost, double gain, double worked, double rested);

class Rests {
 public:
  using Shares = std::vector<std::uint64_t>;

  // State of one worker beside its curve. A worker never measured has worked for 0 rounds.
  struct Known {
    double worked = 0;  // rounds
    double doubt = 0;   // relative deviation of its time for one sample
    double worth = 0;   // seconds per round that the others would need for its share, on average
    double late = 0;    // seconds per round that the others certainly wait for it alone
  };

  explicit Rests(const Rules& rules = {}) : rules_(rules) {}

  // Ends the rests that are over. Returns the slots of workers that rested because they were late.
  std::vector<std::uint32_t> call_back(const Request& request);
  // The time of a worker in this round has arrived.
  void measured(std::uint32_t slot, std::uint64_t round);
  // Sends workers to rest, then splits exactly. `curves` and `known` are in the request's order.
  Shares solve(const Request& request, const std::vector<Affine>& curves, const std::vector<Known>& known);
  void forget_all_but(const std::set<std::uint32_t>& present) { keep_only(present, rests_); }

  [[nodiscard]] std::set<std::uint32_t> resting() const;   // slots; also those whose trial is not over
  [[nodiscard]] std::set<std::uint32_t> on_trial() const;  // slots of workers that rested because of their
                                                           // curve
  // Slots of workers whose trial begins with these shares, and takes longer than the round of the others.
  [[nodiscard]] std::vector<std::uint32_t> beside_round(const Request& request,
                                                        const std::vector<Affine>& curves,
                                                        const Shares& shares) const;

  void serialize(auto& fields) { fields(rests_, round_); }

 private:
  struct Rest {
    std::uint64_t since = 0;     // its first round, trials not counted
    std::uint64_t until = 0;     // round of the next trial; on trial: of this one
    bool trying = false;         // it has a sample again, and is judged by it
    bool awaited = false;        // on trial: its time has not arrived
    bool late = false;           // rests because the rounds waited for it, not because of its curve
    std::uint64_t interval = 0;  // rounds of this rest, if late
    void serialize(auto& fields) { fields(since, until, interval, trying, awaited, late); }
  };

  void stop_waiting(const Request& request, const std::vector<Affine>& curves);

  bool send_to_rest(const Request& request, const std::vector<Affine>& curves,
                    const std::vector<Known>& known, const Shares& best, const Shares& all);
  bool send_the_late_to_rest(const Request& request, const std::vector<Affine>& curves,
                             const std::vector<Known>& known, const Shares& all);

  Rules rules_;
  std::map<std::uint32_t, Rest> rests_;  // by slot, of workers that rest or did so recently
  std::uint64_t round_ = 0;              // of the last request
};

}  // namespace steelyard::balancing
