// Pace: T over a whole training, chosen by two controllers of Orchestra (Du, Huang, Xiang 2022).
//
//   begin        T = T* of the load balance controller, in longest mini-batches (best_period)
//   next_epoch   T += {-1, 0, +1} units, chosen by the barrier controller (barrier.h)
//
// In between, all rounds are counted and their results added up. The accuracy of an epoch is the mean of its
// rounds weighted by positions, its seconds are the sum, and steps are mean local steps of a worker since the
// beginning.
//
// Ours: an epoch without any correct label, as when nothing is really trained, is ignored, and T stays. The
// gain of the next epoch is then unknown, like that of the first. If a gain is unknown, the reward is 0.
//
// Copyable: copies continue independently.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "balancing/orchestra/actor_critic.h"
#include "balancing/orchestra/barrier.h"
#include "balancing/pacing.h"

namespace steelyard::balancing::orchestra {

// Orchestra's load balance controller (Du, Huang, Xiang 2022, doi 10.1145/3528416.3530246, section 3.1.1):
// the time T between two barriers at which all workers have, as nearly as possible, just finished a
// mini-batch.
//
//   tau_n(T) = floor(T / t_n)                     mini-batches that worker n finishes before T
//   idle(T)  = max_n (T mod t_n)                  the longest wait if all stop there
//   T*       = argmin idle(T),   T = max t, max t + unit, ...   the earliest among equals
//
// The search ends at T for which max tau - min tau exceeds `most_apart` (M), which keeps the models of fast
// and slow workers together. Ours, not published: M = 16; the unit, 1 % of max t; T at most 16 max t, as the
// search would never end for equal workers. T = max t is tried however far apart its tau are.
struct SearchOptions {
  double unit = 0.01;             // of T, in longest mini-batches, above 0
  double longest = 16;            // of T, in longest mini-batches
  std::uint64_t most_apart = 16;  // M
};

struct Period {
  double seconds = 0;  // T
  double idle = 0;     // seconds, of the worker that waits longest
};

// Mini-batches that a worker finishes within `period`; at least one. Times that are whole multiples except
// for rounding errors count as whole.
std::uint64_t local_steps(double period, double batch_seconds);

// `batch_seconds` of each worker: positive and finite, at least one entry.
Period best_period(std::span<const double> batch_seconds, SearchOptions options = {});

struct PaceOptions {
  std::uint64_t seed = 1;  // of the actor-critic
  double unit = 1;         // of a move, in longest mini-batches
};

class Pace {
 public:
  explicit Pace(PaceOptions options = {});

  [[nodiscard]] double longest_batches() const { return period_.longest_batches(); }  // T

  void begin(double longest_batches) { period_ = BarrierPeriod(longest_batches, options_.unit); }
  void count_round(double mean_steps);
  void ended(const RoundEnd& round);
  // The epoch of the last ended() is over; `workers` as they were in it.
  void next_epoch(const std::vector<BarrierView::Worker>& workers);

  void serialize(auto& fields) {
    fields(period_, barriers_, steps_, before_, now_, reward_, controller_);
    fields.require(steps_ >= 0 && now_.positions >= 0 && now_.seconds >= 0, "a sum is negative");
  }

 private:
  struct Epoch {
    std::uint64_t number = 0;  // 0: no round of it is done
    double positions = 0, right = 0, seconds = 0;
    void serialize(auto& fields) { fields(number, positions, right, seconds); }
    // 0: unknown.
    [[nodiscard]] double accuracy() const { return positions > 0 ? right / positions : 0; }
  };
  void forget_epoch() { before_ = now_.accuracy(), now_ = {}; }

  PaceOptions options_;
  ActorCritic controller_;
  BarrierReward reward_;
  BarrierPeriod period_;
  std::uint64_t barriers_ = 0;
  double steps_ = 0;
  Epoch now_;
  double before_ = 0;  // accuracy of the previous epoch
};

}  // namespace steelyard::balancing::orchestra
