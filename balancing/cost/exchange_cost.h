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

// How long the rounds waited for a worker alone: what they would have gained without it, had the others not
// had to do its share.
//
//   L(k) = t_i(k) - max_{j != i} t_j(k) where i was the last of all, else 0
//
// A curve is a worker's typical time. A worker that is often interrupted is late more often than its curve
// says; L shows that. Kept: mean and error of the mean of L, with forgetting, and the mean of what the worker
// was worth in the same rounds.
class WaitedFor {
 public:
  // L of one round, and what that round would have taken longer had it not been there.
  void observe(double seconds, double worth);

  // The mean that is exceeded most likely: it less its own deviation. 0 until enough rounds were seen.
  [[nodiscard]] double surely() const;

  // A round, on average.
  [[nodiscard]] double worth() const { return weight_ > 0 ? worth_ / weight_ : 0; }

  void doubt();  // it is to be seen again whether that is still so

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
  // Without `follow_changes`, a change is seen as slowly as the median moves (cost/rules.h).
  explicit ExchangeCost(bool follow_changes = true) : follow_changes_(follow_changes) {}

  // Not negative; others are ignored. `after_rest`: the worker has not worked for a while.
  void observe(double seconds, bool after_rest);

  [[nodiscard]] double surely() const;                     // seconds, to pull; 0 until it is known
  [[nodiscard]] bool changed() const { return changed_; }  // of late

  void serialize(auto& fields) {
    fields(changed_, at_most(capacity, seconds_));
    for (const double seconds : seconds_) fields.require(seconds >= 0, "an exchange took less than no time");
    fields.require(!changed_ || !seconds_.empty(), "a link has changed, and nothing is known of it");
    if (fields.reads) typical_ = seconds_.empty() ? Typical{} : typical();
  }

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
