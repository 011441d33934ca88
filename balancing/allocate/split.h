// A division of a round among workers that a policy keeps from round to round.
//
// Rounds differ: the last one of an epoch is short, an evaluation is long, what a lost worker owed is a few
// positions. A kept split therefore serves requests of any length in proportion; a policy changes it only for
// rounds of the length that it was made for.
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

// From a request to the bounds that its plan has to respect.
//
// The first step of every policy, so that all of them treat short rounds and tight limits alike.

// share_bounds() (include/steelyard/policy.h) where the workers in the slots of `resting` get nothing, as far
// as they may rest. If the others cannot take the round without them, no worker rests.
std::vector<Bound> share_bounds(const Request& request, const std::set<std::uint32_t>& resting);

// The same, where workers that may rest may also be given nothing: the exact allocator then leaves out
// workers that would only delay the round.
std::vector<Bound> with_rest(const Request& request, std::vector<Bound> bounds);

[[nodiscard]] bool may_rest(const WorkerView& worker);

struct Split {
  std::vector<std::uint32_t> slots;   // ordered
  std::vector<std::uint64_t> shares;  // one per slot

  static Split of(const Request& request, std::vector<std::uint64_t> shares);

  [[nodiscard]] bool empty() const { return slots.empty(); }
  [[nodiscard]] std::uint64_t total() const;
  [[nodiscard]] bool same_workers(const Request& request) const;

  [[nodiscard]] bool made_for(const Request& request) const;  // the same workers, and as many positions

  // Whether it answers the request as it is: same workers, same positions, inside the bounds.
  [[nodiscard]] bool fits(const Request& request, const std::vector<Bound>& bounds) const;

  // Its proportions for another round: a new worker counts as the mean of the known ones.
  [[nodiscard]] std::vector<std::uint64_t> adapted(const Request& request,
                                                   const std::vector<Bound>& bounds) const;

  void serialize(auto& fields) {
    std::size_t size = slots.size();
    fields(at_most(most_workers, size));
    slots.resize(size), shares.resize(size);
    for (std::size_t i = 0; i < size; ++i) fields(slots[i], at_most(most_positions, shares[i]));
  }
};

// The slots of the workers that are there: what is known of others is to be forgotten.
std::set<std::uint32_t> slots_of(const Request& request);
template <class Value>
void keep_only(const std::set<std::uint32_t>& present, std::map<std::uint32_t, Value>& known) {
  std::erase_if(known, [&](const auto& entry) { return !present.contains(entry.first); });
}

// Fills the holes (numbers that are not positive) with the mean of the others; with 1 if all are holes.
void fill_with_mean(std::vector<double>& values);

// Seconds of the slowest worker under these shares, by these curves; workers without a share take none.
double longest(const std::vector<Affine>& curves, const std::vector<std::uint64_t>& shares);

// What the workers did in the newest round of which there is a report.
//
// Policies that compare the workers of one round (LBB, BOA, the search of LB-BSP) look at a round once, when
// all who had a share in it are here. Several pieces of one worker in one round count as one share. Samples
// of rounds before the newest come too late and are ignored.
inline constexpr double longest_time = 1e9;  // seconds; more is a broken clock, and sums need not be finite

// A sample that a policy may believe: samples, and a time that a clock can measure.
[[nodiscard]] bool possible(const Sample& sample);
[[nodiscard]] bool possible_time(double seconds);

// What workers have done since some moment, by slot; all that are in it did something.
using WorkDone = std::map<std::uint32_t, TimedBatch>;
void require_work(const WorkDone& work, auto& fields) {
  for (const auto& [slot, done] : work) {
    fields.require(done.samples > 0 && done.seconds > 0, "a worker did nothing");
  }
}

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

  void add(const Sample& sample);  // ignores what is not possible()

  // True once per round: all workers of the request that had a share in `split` have reported.
  [[nodiscard]] bool take(const Request& request, const Split& split);

  [[nodiscard]] const std::map<std::uint32_t, Work>& work() const { return work_; }
  [[nodiscard]] const Work* find(std::uint32_t slot) const;  // nullptr for a worker that did nothing
  [[nodiscard]] std::uint64_t samples() const;               // of all workers

  void serialize(auto& fields) { fields(round_, taken_, work_); }

 private:
  std::uint64_t round_ = 0;
  bool taken_ = true;
  std::map<std::uint32_t, Work> work_;
};

}  // namespace steelyard::balancing
