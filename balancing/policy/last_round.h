// What the workers did in the newest round of which there is a report.
//
// Policies that compare the workers of one round (LBB, BOA, the search of LB-BSP) look at a round once, when
// all who had a share in it are here. Several pieces of one worker in one round count as one share. Samples
// of rounds before the newest come too late and are ignored.
#pragma once

#include <cstdint>
#include <map>

#include "balancing/policy.h"
#include "balancing/policy/split.h"
#include "balancing/state.h"

namespace steelyard::balancing {

inline constexpr double longest_time = 1e9;  // seconds; more is a broken clock, and sums need not be finite

// A sample that a policy may believe: samples, and a time that a clock can measure.
[[nodiscard]] bool possible(const Sample& sample);
[[nodiscard]] bool possible_time(double seconds);

class LastRound {
 public:
  struct Work {
    std::uint64_t samples = 0;
    double seconds = 0;
    double exchange = -1;  // the longest of its pieces; -1: unknown
  };

  void add(const Sample& sample);  // ignores what is not possible()

  // True once per round: all workers of the request that had a share in `split` have reported.
  [[nodiscard]] bool take(const Request& request, const Split& split);

  [[nodiscard]] const std::map<std::uint32_t, Work>& work() const { return work_; }
  [[nodiscard]] const Work* find(std::uint32_t slot) const;  // nullptr for a worker that did nothing
  [[nodiscard]] std::uint64_t samples() const;               // of all workers

  void save(StateWriter& writer) const;
  void restore(StateReader& reader);

 private:
  std::uint64_t round_ = 0;
  bool taken_ = true;
  std::map<std::uint32_t, Work> work_;
};

}  // namespace steelyard::balancing
