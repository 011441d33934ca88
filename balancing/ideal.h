// IdealMeter: percent of ideal of a real run, measured against the best split on the curves that the run
// itself measured.
//
//   curve_i    affine time of worker i, robustly fitted over its recent shares (AffineWindow)
//   exchange   median over recent rounds of (round time - longest compute time)
//   ideal(k)   min over splits of max_i curve_i(b_i), under the bounds of round k, + exchange;
//              each b_i is a whole number of grains, except the last, which ends with the round
//   percent    100 x sum ideal(k) / sum measured(k)
//
// Each round is judged with the curves known at its end. A single round may exceed 100 if it was faster than
// its curves. For about three rounds after a worker changes abruptly the percentages are unreliable, until
// its curve has followed. Memory is bounded: beyond 4096 rounds percent_from() answers from a nearby round.
//
// If shares never change, fixed costs cannot be identified and count as part of the speed: the ideal is then
// slightly too fast, and the percent too low.
//
// A plain object for one thread. About 6 microseconds per round and worker.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "balancing/cost/curves.h"

namespace steelyard::balancing {

struct WorkerTime {
  std::uint32_t slot = 0;
  std::uint64_t share = 0;                     // samples computed in this round
  double seconds = 0;                          // compute time
  std::uint64_t least = 1, most = UINT64_MAX;  // bounds of the share, as in the request
};

struct RoundTimes {
  std::uint64_t round = 0;
  double seconds = 0;  // from the start of the round to its close
  std::vector<WorkerTime> workers;
  std::uint64_t grain = 1;  // in samples: shares are multiples of it
};

class IdealMeter {
 public:
  // Rounds must come in order. A round that cannot be judged (no time, no share, not finite, or not later
  // than the last one) is ignored.
  void add(const RoundTimes& round);

  // Over all rounds, the last one, or this one and all later ones; 0 without rounds.
  [[nodiscard]] double percent() const { return sums_.percent_since({}); }
  [[nodiscard]] double percent_of_last() const { return sums_.percent_since(before_last_); }
  [[nodiscard]] double percent_from(std::uint64_t round) const;

  template <class Archive>
  void serialize(Archive& archive) {
    archive(curves_, exchanges_, rounds_, last_round_, before_last_, sums_, marks_, stride_);
  }

 private:
  struct Sums {
    double ideal = 0, measured = 0;  // seconds
    [[nodiscard]] double percent_since(const Sums& before) const;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(ideal, measured);
    }
  };
  struct Mark {
    std::uint64_t round;
    Sums before;  // sums of all rounds before it
    template <class Archive>
    void serialize(Archive& archive) {
      archive(round, before);
    }
  };

  [[nodiscard]] double best_compute(const RoundTimes& round) const;
  void remember_exchange(const RoundTimes& round);
  void mark(std::uint64_t round);

  std::map<std::uint32_t, AffineWindow> curves_;  // by slot, of the workers of the last round
  std::vector<double> exchanges_;                 // of the last rounds, a ring buffer
  std::uint64_t rounds_ = 0;                      // judged
  std::uint64_t last_round_ = 0;                  // its number
  Sums before_last_, sums_;
  std::vector<Mark> marks_;  // one every stride_ rounds
  std::uint64_t stride_ = 1;
};

}  // namespace steelyard::balancing
