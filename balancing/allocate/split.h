// Split: a division of a round among workers that a policy keeps from round to round.
//
// Rounds differ in length: the last one of an epoch is short, an evaluation is long, the pieces of a lost
// worker are a few positions. A kept split therefore serves requests of any length in proportion. A policy
// changes it only for rounds of the length that it was made for.
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "balancing/allocate/bounds.h"
#include "balancing/cost/curves.h"
#include "balancing/state.h"

namespace steelyard::balancing {

// Turns a request into the bounds of its plan. The first step of every policy, so that all treat short rounds
// and tight limits alike.
//
// share_bounds() (include/steelyard/policy.h) with 0 for the workers in the slots of `resting` that may rest.
// If the others cannot take the round without them, no worker rests.

std::vector<Bound> share_bounds(const Request& request, const std::set<std::uint32_t>& resting);

// `bounds`, with 0 allowed for workers that may rest: the exact allocator then leaves out workers that would
// only delay the round.
std::vector<Bound> with_rest(const Request& request, std::vector<Bound> bounds);

[[nodiscard]] bool may_rest(const WorkerView& worker);

struct Split {
  std::vector<std::uint32_t> slots;   // in ascending order
  std::vector<std::uint64_t> shares;  // one per slot

  static Split of(const Request& request, std::vector<std::uint64_t> shares);

  [[nodiscard]] bool empty() const { return slots.empty(); }
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] bool same_workers(const Request& request) const;

  [[nodiscard]] bool made_for(const Request& request) const;  // the same workers and number of positions

  // Whether it answers the request unchanged: same workers, same positions, within the bounds.
  [[nodiscard]] bool fits(const Request& request, const std::vector<Bound>& bounds) const;

  // Its proportions for another round; a new worker gets the mean of the known ones. An empty split is the
  // first one of a policy: it follows from the workers' profiles or, without them, is equal.
  [[nodiscard]] std::vector<std::uint64_t> adapted(const Request& request,
                                                   const std::vector<Bound>& bounds) const;

  void serialize(auto& fields) {
    std::size_t size = slots.size();
    fields(at_most(most_workers, size));
    slots.resize(size), shares.resize(size);
    for (std::size_t i = 0; i < size; ++i) fields(slots[i], at_most(most_positions, shares[i]));
  }
};

// The slots of the workers present; state of other workers must be dropped.
std::set<std::uint32_t> slots_of(const Request& request);
template <class Value>
void keep_only(const std::set<std::uint32_t>& present, std::map<std::uint32_t, Value>& known) {
  std::erase_if(known, [&](const auto& entry) { return !present.contains(entry.first); });
}

// Replaces values that are not positive by the mean of the others, or by 1 if none is positive.
void fill_with_mean(std::vector<double>& values);

// Seconds of the slowest worker under these shares and curves; workers without a share take no time.
double longest(const std::vector<Affine>& curves, const std::vector<std::uint64_t>& shares);

inline constexpr double longest_time = 1e9;  // seconds; longer times are clock errors, and sums might
                                             // overflow

// A plausible sample: it has samples, and a time that a clock can measure.
[[nodiscard]] bool possible(const Sample& sample);
[[nodiscard]] bool possible_time(double seconds);

// The work done since some time, by slot; no entry is empty.
using WorkDone = std::map<std::uint32_t, TimedBatch>;
void require_work(const WorkDone& work, auto& fields) {
  for (const auto& [slot, done] : work) {
    fields.require(done.samples > 0 && done.seconds > 0, "a worker did nothing");
  }
}

// LastRound: the work of the workers in the newest round reported.
//
// Policies that compare the workers of one round (LBB, BOA, the search of LB-BSP) evaluate a round once, when
// all workers with a share in it have reported. Several pieces of one worker in one round count as one share.
// Samples of older rounds are ignored.
class LastRound {
 public:
  struct Work {
    std::uint64_t samples = 0;
    double seconds = 0;
    double exchange = -1;  // the longest of its pieces; -1: unknown
    void serialize(auto& fields) {
      fields(samples, seconds, exchange);
      fields.require(possible_time(seconds), "no round takes that long");
    }
  };

  void add(const Sample& sample);  // ignores samples that are not possible()

  // True once per round, when all workers of the request with a share in `split` have reported.
  [[nodiscard]] bool take(const Request& request, const Split& split);

  [[nodiscard]] const std::map<std::uint32_t, Work>& work() const { return work_; }
  [[nodiscard]] const Work* find(std::uint32_t slot) const;  // nullptr for a worker without work
  [[nodiscard]] std::uint64_t samples() const;               // of all workers

  void serialize(auto& fields) { fields(round_, taken_, work_); }

 private:
  std::uint64_t round_ = 0;
  bool taken_ = true;
  std::map<std::uint32_t, Work> work_;
};

}  // namespace steelyard::balancing
