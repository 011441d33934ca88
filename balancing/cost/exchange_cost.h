// What a worker's link costs it in a round beyond what the best link of that round costs, as a typical value
// and how sure that is.
//
// All workers wait for the last push of the round. So the cost of a worker's own link is how much longer it
// waited than the worker that waited least in the same round. Over the last 15 rounds: median e, deviation of
// the median s = 1.86 MAD / sqrt(n) (for normal noise); only what is surely there counts: max(0, e - 2 s).
//
// A link that has changed is known by two waits in a row that are far from the rest on the same side, or by
// one if nothing was heard of it for long; then what was before is forgotten.
#pragma once

#include <deque>

#include "balancing/state.h"

namespace steelyard::balancing {

class ExchangeCost {
 public:
  // Without `follow_changes`, a change is seen as slowly as the median moves (cost/rules.h).
  explicit ExchangeCost(bool follow_changes = true) : follow_changes_(follow_changes) {}

  // Not negative; others are ignored. `after_rest`: the worker has not worked for a while.
  void observe(double seconds, bool after_rest);

  [[nodiscard]] double surely() const;                     // seconds, to pull; 0 until it is known
  [[nodiscard]] bool changed() const { return changed_; }  // of late

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  struct Typical {
    double median = 0, spread = 0;  // the latter: median distance from the former
  };
  [[nodiscard]] Typical typical() const;
  [[nodiscard]] bool far(double seconds) const;

  static constexpr std::size_t capacity = 15, enough = 5;
  bool follow_changes_;
  std::deque<double> seconds_;
  Typical typical_;       // of them; asked several times in a round
  bool changed_ = false;  // the waits are those since a change: fewer will do
};

}  // namespace steelyard::balancing
