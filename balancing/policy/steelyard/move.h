// When shares move, and how far.
//
//   move   if max T(x) - max T(x*) > max(least_gain, caution * doubt) * max T(x), else x stays
//
// with x the current split and x* the best one. A single round moves no share by more than a twentieth; a
// larger move requires that the previous round wanted it, too.
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

// Links: the cost of the workers' links, compared in every round (cost/exchange_cost.h).
//
// Needs the report of every worker of the round: only the time that a worker waited beyond the one that
// waited least is attributed to its own link. A worker pushes as much as it pulls, so its wait for parameters
// counts twice.
class Links {
 public:
  explicit Links(const Rules& rules = {}) : rules_(rules) {}

  // A round that all workers have reported. `after_rest`: slots of workers that had not worked for a while.
  void observe(const LastRound& round, const std::set<std::uint32_t>& after_rest);
  void forget_all_but(const std::set<std::uint32_t>& present) { keep_only(present, links_); }

  // To pull and to push, beyond the time of the best link.
  [[nodiscard]] double seconds(std::uint32_t slot) const;
  [[nodiscard]] bool changed(std::uint32_t slot) const;  // recently

  void serialize(auto& fields) {
    fields.by_slot(links_, [&](std::uint32_t) { return ExchangeCost(rules_.link_changes); });
  }

 private:
  Rules rules_;
  std::map<std::uint32_t, ExchangeCost> links_;  // by slot, of workers that report their waits
};

// Waits: how long rounds wait for each worker, and what that worker is worth (WaitedFor).
class Waits {
 public:
  // A round that all workers have reported: records how long the others waited for the slowest worker and,
  // for each, how long the others would have needed for its samples. Ignores memory limits. `curves` and
  // `link_seconds` are in the order of the request.
  void observe(const Request& request, const LastRound& round, const std::vector<Affine>& curves,
               const std::vector<double>& link_seconds);
  void doubt(std::uint32_t slot) { waited_[slot].doubt(); }  // lateness must be observed again
  void forget_all_but(const std::set<std::uint32_t>& present) { keep_only(present, waited_); }

  // Seconds per round: how long the others certainly wait for it alone, and would need for its share, on
  // average.
  [[nodiscard]] double surely(std::uint32_t slot) const;
  [[nodiscard]] double worth(std::uint32_t slot) const;

  void serialize(auto& fields) { fields(waited_); }

 private:
  std::map<std::uint32_t, WaitedFor> waited_;  // by slot, of workers that have worked
};

struct MoveOptions {
  double least_gain = 0.003;  // relative; moves with a smaller gain are never made
  double caution = 0.25;      // factor on the uncertainty of the slowest worker's time; 0: always the best
                              // split
};

class Move {
 public:
  explicit Move(MoveOptions options = {}, const Rules& rules = {}) : options_(options), rules_(rules) {}

  // State of one worker beside its curve.
  struct Known {
    bool changing = true;  // a single round may decide
    double doubt = 0;      // relative deviation of its time for its current share
  };

  // Returns the next split. `curves`, `known` and `best`, the best split, are in the order of the request.
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
  Split wish_;  // the best split when split_ was planned
};

}  // namespace steelyard::balancing
