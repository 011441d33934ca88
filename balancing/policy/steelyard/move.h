// When shares move, and how far.
//
//   move   if max T(x) - max T(x*) > max(least_gain, caution * doubt) * max T(x), else x stays
//
// with x the split as it is and x* the best one. No share moves by more than a twentieth on the word of one
// round: beyond that, the round before has to have wanted it too.
#pragma once

#include <cstdint>
#include <vector>

#include "balancing/cost/affine.h"
#include "balancing/cost/rules.h"
#include "balancing/policy.h"
#include "balancing/policy/split.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct MoveOptions {
  double least_gain = 0.003;  // relative, below which nothing moves whatever is known
  double caution = 0.25;      // of the doubt about the slowest worker's time; 0: always the best split
};

class Move {
 public:
  explicit Move(MoveOptions options = {}, const Rules& rules = {}) : options_(options), rules_(rules) {}

  // What is known of one worker beside its curve.
  struct Known {
    bool changing = true;  // one round of it may speak for itself
    double doubt = 0;      // relative deviation of its time for its present share
  };

  // The next split. `curves` and `known` are in the order of the request, and so is `best`, the best split.
  const Split& to(const Request& request, const std::vector<Affine>& curves, const std::vector<Known>& known,
                  std::vector<std::uint64_t> best);

  [[nodiscard]] const Split& split() const { return split_; }  // of the last round of the usual length

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  using Shares = std::vector<std::uint64_t>;
  [[nodiscard]] Shares held_back(const Request& request, const std::vector<Affine>& curves,
                                 const std::vector<Known>& known, Shares best) const;
  [[nodiscard]] bool worth_it(const Request& request, const std::vector<Affine>& curves,
                              const std::vector<Known>& known, const Shares& best) const;

  MoveOptions options_;
  Rules rules_;
  Split split_;
  Split wish_;  // the best split when that was planned
};

}  // namespace steelyard::balancing
