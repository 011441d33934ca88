// Orchestra (Du, Huang, Xiang 2022, doi 10.1145/3528416.3530246): workers do whole mini-batches of one size,
// as many as end before a common barrier. Once per epoch,
//
//   t_n    seconds of one mini-batch of a common size, from the previous epoch
//   T*     the barrier that leaves least idle time (balancing/orchestra/pace.h)
//   x_n    = X tau_n / sum_j tau_j,  tau_n = floor(T / t_n)
//
// so each worker's share corresponds to tau_n mini-batches: Orchestra's load balance and data partition
// controllers (sections 3.1.1 and 3.1.2). The idle time of whole mini-batches, max_n (T mod t_n), becomes a
// rounding error of the shares.
//
// With sync = "orchestra" the policy also decides the length of rounds: worker n takes tau_n steps, T starts
// at T*, and then the barrier controller adjusts it by the result of each epoch (section 3.1.3,
// orchestra/pace.h). In other modes T stays T*: under `diloco:H` workers do steps in proportion to tau, H on
// average; under `local:H` all do H steps, and a fast worker takes larger ones.
//
// Ours: the first round is equal, one step each, and the second is already divided; a worker not yet measured
// counts as the mean of the others; after a change of the workers the round is divided anew, and T restarts
// at the new T*. No worker rests.
#pragma once

#include <steelyard/policy.h>

#include "balancing/allocate/split.h"
#include "balancing/orchestra/pace.h"
#include "balancing/pacing.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct OrchestraOptions {
  orchestra::SearchOptions search;
  // Length of an epoch if requests do not name theirs (the scheduler's always do); at least 1.
  std::uint64_t rounds = 50;
  double unit = 1;         // of a move of T, in longest mini-batches
  std::uint64_t seed = 1;  // for the actor-critic
};

class Orchestra final : public Saved<Policy, Orchestra>, public Pacing {
 public:
  static constexpr char title[] = "orchestra.3";
  explicit Orchestra(OrchestraOptions options = {})
      : options_(options), pace_({options.seed, options.unit}) {}

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
  std::uint64_t rounds_ = 0;  // measured since then
  std::uint64_t epoch_ = 0;   // of the division
  bool divided_ = false;      // for these workers
  bool paces_ = false;        // decides steps; shares of the split are steps
  LastRound last_;
  Split split_;
};

}  // namespace steelyard::balancing
