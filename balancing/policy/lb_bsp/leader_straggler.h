// The search of LB-BSP on GPU clusters (Chen et al., SoCC 2020, as described in the survey of LB-BSP, DLB and
// LBB): no model of the time; at every barrier
//
//   leader    = argmin t among those that may take more;   straggler = argmax t
//   if the same leader has been ahead of the same straggler in each of the last D rounds:
//       x[leader] += DELTA;  x[straggler] -= DELTA
//   a straggler that would fall to 0 or below must be removed
//   a move that undoes the previous one (the two have changed places):  DELTA <- DELTA / 2,  D <- 2 D
//
// The window D ignores transient slowness. The numbers are ours, as the paper's are not public: DELTA starts
// at 4 % of the mean share, D starts at 5 and is limited to 80; nothing moves while (max t - min t) / mean t
// is below 0.03; both are reset after that spread has been above 0.3 for D0 rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace steelyard::balancing {

class LeaderStraggler {
 public:
  // One party of the search: a GPU, or all CPUs together.
  struct Unit {
    std::uint64_t id = 0;
    double seconds = 0;  // of the last round
    std::uint64_t share = 0, most = UINT64_MAX;
  };
  struct Move {
    std::uint64_t from = 0, to = 0;  // ids
    std::uint64_t samples = 0;
    bool removes = false;  // the whole share of `from`
    friend bool operator==(const Move&, const Move&) = default;
  };

  // Call after every round, with the units that worked in it.
  std::optional<Move> next(std::span<const Unit> units);

  [[nodiscard]] std::uint64_t step() const { return step_; }
  [[nodiscard]] std::uint64_t window() const { return window_; }

  void serialize(auto& fields) { fields(step_, window_, pair_, streak_, moved_, apart_); }

 private:
  struct Pair {
    std::uint64_t leader = UINT64_MAX, straggler = UINT64_MAX;
    void serialize(auto& fields) { fields(leader, straggler); }
    friend bool operator==(const Pair&, const Pair&) = default;
  };
  void begin(std::span<const Unit> units);

  std::uint64_t step_ = 0;    // DELTA; 0 before the first round
  std::uint64_t window_ = 0;  // D
  Pair pair_;                 // of the last round
  std::uint64_t streak_ = 0;  // rounds in a row with this pair
  Pair moved_;                // of the last move
  std::uint64_t apart_ = 0;   // rounds in a row with a spread that requires a reset
};

}  // namespace steelyard::balancing
