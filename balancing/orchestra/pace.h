// Pace: T over a whole training, by the two controllers of Orchestra that choose it (Du, Huang, Xiang 2022).
//
//   begin        T = T* of the load balance controller, in longest mini-batches (load_balance.h)
//   next_epoch   T += {-1, 0, +1} units, as the barrier controller says (barrier.h)
//
// and in between all rounds are counted and their ends added up. Accuracy of an epoch is that of its rounds
// by positions, its seconds are the sum of theirs, and steps are mean local steps of a worker since the
// beginning.
//
// Ours: an epoch in which no label was right tells nothing, as where nothing is really trained, and T stays;
// the next epoch has no gain then, and neither has the first. Where a gain is unknown, the reward is 0.
//
// A plain value: copies go on by themselves.
#pragma once

#include <memory>

#include "balancing/orchestra/barrier.h"
#include "balancing/pacing.h"

namespace steelyard::balancing::orchestra {

enum class Controller : std::uint8_t { hill_climb, actor_critic };

struct PaceOptions {
  Controller controller = Controller::hill_climb;
  std::uint64_t seed = 1;  // of the actor-critic
  double unit = 0.01;      // of a longest mini-batch
};

class Pace {
 public:
  explicit Pace(PaceOptions options = {});
  Pace(const Pace& other);
  Pace& operator=(const Pace& other);
  Pace(Pace&&) noexcept = default;
  Pace& operator=(Pace&&) noexcept = default;
  ~Pace() = default;

  [[nodiscard]] double longest_batches() const { return period_.longest_batches(); }  // T

  void begin(double longest_batches);
  void count_round(double mean_steps);
  void ended(const RoundEnd& round);
  // The epoch of the last ended() is over; the workers as they were in it.
  void next_epoch(const std::vector<BarrierView::Worker>& workers);

  // Part of its owner's state, hence without a title of its own.
  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  struct Epoch {
    std::uint64_t number = 0;  // 0: none of it is done
    double positions = 0, right = 0, seconds = 0;
    // 0: it tells nothing.
    [[nodiscard]] double accuracy() const { return positions > 0 ? right / positions : 0; }
  };
  void forget_epoch() { before_ = now_.accuracy(), now_ = {}; }

  PaceOptions options_;
  std::unique_ptr<BarrierController> controller_;
  BarrierReward reward_;
  BarrierPeriod period_;
  std::uint64_t barriers_ = 0;
  double steps_ = 0;
  Epoch now_;
  double before_ = 0;  // accuracy of the epoch before
};

}  // namespace steelyard::balancing::orchestra
