// The search of LB-BSP on GPU clusters (Chen et al., SoCC 2020, as described in the survey of LB-BSP, DLB and
// LBB): no model of the time; at every barrier
//
//   leader    = argmin t among those that may take more;   straggler = argmax t
//   if this leader has preceded this straggler in each of the last D rounds:
//       x[leader] += DELTA;  x[straggler] -= DELTA
//   a straggler that would fall to 0 or below must be removed
//   a move that closes a circle of moves (a to b, b to a; or a to b, b to c, c to a):
//       DELTA <- DELTA / 2,  D <- 2 D
//
// The window D ignores transient slowness. Every pair has its own window: other units may have been first or
// last in between, and a move restarts only the window of its pair. So a straggler among similar GPUs gives
// samples to all of them, one after the other.
//
// The numbers are ours, as the paper's are not public (docs/decisions/11-what-lb-bsp-leaves-open.md): DELTA
// starts at 4 % of the mean share, D at 2; D is limited to 16. Both are reset after (max t - min t) / mean t
// has been above 0.3 for as many rounds as the first window has.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>

#include "balancing/state.h"

namespace steelyard::balancing {

class LeaderStraggler {
 public:
  // One party of the search: a GPU, or all CPUs together.
  struct Unit {
    std::uint32_t id = 0;
    double seconds = 0;  // of the last round
    std::uint64_t share = 0, most = UINT64_MAX;
  };
  struct Move {
    std::uint32_t from = 0, to = 0;  // ids
    std::uint64_t samples = 0;
    bool removes = false;  // the whole share of `from`
    friend bool operator==(const Move&, const Move&) = default;
  };

  // Call after every round, with the units that worked in it.
  std::optional<Move> next(std::span<const Unit> units);

  [[nodiscard]] std::uint64_t step() const { return step_; }
  [[nodiscard]] std::uint64_t window() const { return window_; }

  void serialize(auto& fields) {
    fields(step_, at_most(longest_window, window_), apart_, at_most(longest_window, past_),
           at_most(longest_window, moves_));
  }

 private:
  static constexpr std::uint64_t longest_window = 16;  // also the number of rounds and moves remembered

  struct Pair {
    std::uint32_t leader = UINT32_MAX, straggler = UINT32_MAX;
    void serialize(auto& fields) { fields(leader, straggler); }
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  struct Round {
    std::map<std::uint32_t, double> seconds;  // by id
    Pair moved;                               // after this round; the default if nothing moved
    void serialize(auto& fields) { fields(seconds, moved); }
  };

  void begin(std::span<const Unit> units);
  [[nodiscard]] bool preceded(const Pair& pair) const;  // in each round of the pair's window
  [[nodiscard]] bool closes_a_circle(const Pair& pair) const;

  std::uint64_t step_ = 0;    // DELTA; 0 before the first round
  std::uint64_t window_ = 0;  // D
  std::uint64_t apart_ = 0;   // rounds in a row with a spread that requires a reset
  std::deque<Round> past_;    // oldest first
  std::deque<Pair> moves_;    // since DELTA was set, oldest first
};

}  // namespace steelyard::balancing
