// The time that a worker's link costs per round, compared with the best link of that round: a typical value
// and its uncertainty.
//
// All workers wait for the last push of the round. The cost of a worker's own link is therefore how much
// longer it waited than the worker that waited least in the same round. Over the last 15 rounds: median e,
// standard error of the median s = 1.86 MAD / sqrt(n) (for normal noise); only the certain part
// counts: max(0, e - 2 s).
//
// A link has changed if two waits in a row are far from the rest on the same side, or one after a long rest;
// older waits are then dropped.
#pragma once

#include <deque>

#include "balancing/state.h"

namespace steelyard::balancing {

// WaitedFor: how long rounds waited for one worker alone, the time they would have gained without it if the
// others had not had to take its share.
//
//   L(k) = t_i(k) - max_{j != i} t_j(k) if i was the last of all, else 0
//
// A curve gives a worker's typical time. A worker that is often interrupted is late more often than its curve
// predicts; L shows that. Kept, with forgetting: the mean of L, its standard error, and the mean worth of the
// worker in the same rounds, that is, how much longer they would have been without it.
class WaitedFor {
 public:
  // L of one round, and the worker's worth in it.
  void observe(double seconds, double worth);

  // A lower bound of the mean of L: the mean less its standard error. 0 until enough rounds are known.
  [[nodiscard]] double surely() const;

  // Seconds per round, on average.
  [[nodiscard]] double worth() const { return weight_ > 0 ? worth_ / weight_ : 0; }

  void doubt();  // lowers the weight of the past

  void serialize(auto& fields) {
    fields(weight_, sum_, squares_, worth_);
    fields.require(weight_ >= 0 && sum_ >= 0 && squares_ >= 0 && worth_ >= 0,
                   "a round waited less than no time");
  }

 private:
  double weight_ = 0, sum_ = 0, squares_ = 0, worth_ = 0;  // sums over rounds: 1, L, its square, worth
};

class ExchangeCost {
 public:
  // Without `follow_changes`, a change shows only as fast as the median moves (cost/rules.h).
  explicit ExchangeCost(bool follow_changes = true) : follow_changes_(follow_changes) {}

  // Negative times are ignored. `after_rest`: the worker has not worked for a while.
  void observe(double seconds, bool after_rest);

  [[nodiscard]] double surely() const;                     // max(0, e - 2 s), in seconds; 0 until known
  [[nodiscard]] bool changed() const { return changed_; }  // recently

  void serialize(auto& fields) {
    fields(changed_, at_most(capacity, seconds_));
    for (const double seconds : seconds_) fields.require(seconds >= 0, "an exchange took less than no time");
    fields.require(!changed_ || !seconds_.empty(), "a link has changed, and nothing is known of it");
    if (fields.reads) typical_ = seconds_.empty() ? Typical{} : typical();
  }

 private:
  struct Typical {
    double median = 0, spread = 0;  // spread: median distance from the median
  };
  [[nodiscard]] Typical typical() const;
  [[nodiscard]] bool far(double seconds) const;

  static constexpr std::size_t capacity = 15, enough = 5;
  bool follow_changes_;
  std::deque<double> seconds_;
  Typical typical_;       // cached: used several times in a round
  bool changed_ = false;  // all waits are since a change: fewer are enough
};

}  // namespace steelyard::balancing
