// Room: what other programs leave of a polite worker's machine, as its heartbeats tell, and whether it gets a
// share. What follows for rounds: scheduler/members/crowding.h.
//
// Times are the scheduler's. All of it is as new for workers that are not polite.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace steelyard {

class Room {
 public:
  // A heartbeat says that so much is left, 0..1. Whatever is no such number is not known.
  void heard(Time now, double left);
  // The worker has done a piece of a training, of so many positions.
  void did(std::uint64_t positions);

  [[nodiscard]] bool known() const { return left_ >= 0; }
  [[nodiscard]] bool out() const { return out_; }  // the worker gets no piece
  // Others use more than half of what the worker would compute with.
  [[nodiscard]] bool crowded() const { return known() && left_ < 0.5; }
  [[nodiscard]] bool full(Time now) const;     // nothing has been left for some seconds
  [[nodiscard]] bool is_back(Time now) const;  // it is out, and there has been room for long enough
  void leave(Time now);
  void come_back(Time now);

  // The most positions that the worker can be expected to finish in time: what it did lately, times what is
  // left now over what was left then. Of a worker that has done nothing yet `equal_part`, of a round, stands
  // for that.
  [[nodiscard]] std::uint64_t most(std::uint64_t equal_part) const;

 private:
  friend struct SchedulerFields;
  double left_ = -1;
  bool full_ = false;
  Time since_{};  // full_ has been so since then
  bool out_ = false;
  Time moved_{};                // since then it has been out, or not
  Duration trial_{};            // so long there has to be room before it gets a share again
  double then_ = 1;             // what was left while it did its last piece, on average
  double sum_ = 0, count_ = 0;  // of what was left since then
  std::uint64_t done_ = 0;
};

}  // namespace steelyard
