// Orchestra (Du, Huang, Xiang 2022, doi 10.1145/3528416.3530246): workers do whole mini-batches of one size,
// as many as end before a common barrier. Once an epoch,
//
//   t_n    seconds of one mini-batch of a size common to all, from the epoch before
//   T*     the barrier that leaves least idle (balancing/orchestra/pace.h)
//   x_n    = X tau_n / sum_j tau_j,  tau_n = floor(T / t_n)
//
// which is what tau_n mini-batches each are of the round: its load balance and data partition controllers
// (sections 3.1.1 and 3.1.2). What Orchestra leaves idle because mini-batches are whole, max_n (T mod t_n),
// is an error of the shares.
//
// Where it is asked how long rounds are (sync = "orchestra"), worker n takes tau_n steps, T begins at T*, and
// from then on the barrier controller moves it by what each epoch brought (section 3.1.3, orchestra/pace.h).
// Elsewhere T is T* all along: under `diloco:H` workers do steps in the proportion of the tau, H on average;
// under `local:H` all do H steps, and a quick worker takes larger ones.
//
// Ours: the first round is equal, one step each, and the second is divided already; a worker that was not
// measured counts as the mean of the others; after a change of the workers it is divided anew, and T begins
// at the new T*. Nobody rests.
#pragma once

#include <steelyard/policy.h>

#include "balancing/allocate/split.h"
#include "balancing/orchestra/pace.h"
#include "balancing/pacing.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct OrchestraOptions {
  orchestra::SearchOptions search;
  // Of an epoch, where requests do not name theirs (the scheduler's always do); at least 1.
  std::uint64_t rounds = 50;
  orchestra::Controller controller = orchestra::Controller::hill_climb;
  std::uint64_t seed = 1;  // of the actor-critic
};

class Orchestra final : public Saved<Policy, Orchestra>, public Pacing {
 public:
  static constexpr char title[] = "orchestra.2";
  explicit Orchestra(OrchestraOptions options = {})
      : options_(options), pace_({options.controller, options.seed, options.search.unit}) {}

  void observe(const Sample& sample) override { last_.add(sample); }
  std::vector<std::uint64_t> plan(const Request& request) override;
  Pacing* pacing() override { return this; }
  std::vector<std::uint64_t> steps(const Request& request) override;
  void ended(const RoundEnd& round) override { pace_.ended(round); }

  [[nodiscard]] Orchestra anew() const { return Orchestra(options_); }
  void serialize(auto& fields) {
    fields(work_, rounds_, epoch_, divided_, paces_, pace_, last_, split_);
    require_work(work_, fields);
  }

 private:
  void review(const Request& request, const std::vector<Bound>& bounds);
  void learn();
  [[nodiscard]] bool due(const Request& request) const;
  void divide(const Request& request, const std::vector<Bound>& bounds);
  [[nodiscard]] double period(const Request& request, const std::vector<double>& seconds);
  [[nodiscard]] std::vector<std::uint64_t> steps_before(const Request& request) const;

  OrchestraOptions options_;
  orchestra::Pace pace_;
  WorkDone work_;             // since the last division, by slot
  std::uint64_t rounds_ = 0;  // measured since
  std::uint64_t epoch_ = 0;   // of the division
  bool divided_ = false;      // for these workers
  bool paces_ = false;        // it is asked for steps, and shares of the split are steps
  LastRound last_;
  Split split_;
};

}  // namespace steelyard::balancing
