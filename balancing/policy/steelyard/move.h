// When shares move, and how far.
//
//   move   if max T(x) - max T(x*) > max(least_gain, caution * doubt) * max T(x), else x stays
//
// with x the split as it is and x* the best one. No share moves by more than a twentieth on the word of one
// round: beyond that, the round before has to have wanted it too.
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "balancing/allocate/split.h"
#include "balancing/cost/curves.h"
#include "balancing/cost/exchange_cost.h"
#include "balancing/cost/rules.h"

namespace steelyard::balancing {

// What the links of the workers cost, compared in every round (cost/exchange_cost.h).
//
// Needs the report of every worker of the round: only what one waited longer than the worker that waited
// least is its own link's doing. A worker pushes as much as it pulls, so what it waits for its parameters
// counts twice.
class Links {
 public:
  explicit Links(const Rules& rules = {}) : rules_(rules) {}

  // A round that all have reported. `after_rest`: the slots of those who had not worked for a while.
  void observe(const LastRound& round, const std::set<std::uint32_t>& after_rest);
  void forget_all_but(const std::set<std::uint32_t>& present) { keep_only(present, links_); }

  // To pull and to push, beyond what the best link takes.
  [[nodiscard]] double seconds(std::uint32_t slot) const;
  [[nodiscard]] bool changed(std::uint32_t slot) const;  // of late

  void serialize(auto& fields) {
    fields.by_slot(links_, [&](std::uint32_t) { return ExchangeCost(rules_.link_changes); });
  }

 private:
  Rules rules_;
  std::map<std::uint32_t, ExchangeCost> links_;  // by slot, where samples tell of it
};

// For whom the rounds wait, and what that worker is worth (cost/waited_for.h).
class Waits {
 public:
  // A round that all have reported: for the slowest worker, how long the others waited for it; for each, how
  // long the others would have needed for its samples. Memory limits are not looked at. `curves` and
  // `link_seconds` are in the order of the request.
  void observe(const Request& request, const LastRound& round, const std::vector<Affine>& curves,
               const std::vector<double>& link_seconds);
  void doubt(std::uint32_t slot) { waited_[slot].doubt(); }  // it is to be seen again whether it is late
  void forget_all_but(const std::set<std::uint32_t>& present) { keep_only(present, waited_); }

  // Seconds a round: what the others surely wait for it alone, and would need for its share, on average.
  [[nodiscard]] double surely(std::uint32_t slot) const;
  [[nodiscard]] double worth(std::uint32_t slot) const;

  void serialize(auto& fields) { fields(waited_); }

 private:
  std::map<std::uint32_t, WaitedFor> waited_;  // by slot, of those that worked
};

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

  void serialize(auto& fields) { fields(split_, wish_); }

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
