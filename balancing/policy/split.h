// A division of a round among workers that a policy keeps from round to round.
//
// Rounds differ: the last one of an epoch is short, an evaluation is long, what a lost worker owed is a few
// positions. A kept split therefore serves requests of any length in proportion; a policy changes it only for
// rounds of the length that it was made for.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "balancing/allocate/bounds.h"
#include "balancing/cost/affine.h"
#include "balancing/policy.h"
#include "balancing/state.h"

namespace steelyard::balancing {

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

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);
};

// The slots of the workers that are there: what is known of others is to be forgotten.
std::set<std::uint32_t> slots_of(const Request& request);

// Fills the holes (numbers that are not positive) with the mean of the others; with 1 if all are holes.
void fill_with_mean(std::vector<double>& values);

// Seconds of the slowest worker under these shares, by these curves; workers without a share take none.
double longest(const std::vector<Affine>& curves, const std::vector<std::uint64_t>& shares);

}  // namespace steelyard::balancing
