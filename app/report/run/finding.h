// Who held the others up in a run, when, and what a better split would have brought. Pure.
//
// Where a round ends for all at once, whoever has computed waits for the slowest:
//
//   waiting_i(k) = max_j compute_j(k) - compute_i(k)
//   exchange(k)  = length of the round - max_j compute_j(k)
//
// The waiting of a round, the mean over the others, is put down to its slowest worker. The better split is
// the best one on curves fitted as for the percent of ideal (balancing/ideal.h), over the last 64 rounds of
// the stretch in which most was waited of those with ten rounds or more, with their median exchange.
#pragma once

#include <optional>

#include "app/report/run/run_record.h"

namespace steelyard {

struct WorkerFinding {
  std::uint64_t rounds = 0;                           // in which it computed
  double samples = 0;                                 // of all of them
  double computing = 0, waiting = 0, exchanging = 0;  // seconds
  std::uint64_t last = 0;                             // rounds in which it was the slowest of several
  double held = 0;                                    // seconds that the others waited for it, a mean of them

  [[nodiscard]] double speed() const { return computing > 0 ? samples / computing : 0; }
};

// Time in which one worker was the one waited for; begins and ends with a round.
struct Stretch {
  std::uint32_t worker = 0;
  double begin = 0, end = 0;
  double waiting = 0;               // share of this time that the others waited, 0..1
  std::size_t first = 0, last = 0;  // of RunRecord::rounds
};

struct BetterSplit {
  std::vector<std::uint32_t> workers;
  std::vector<double> now;                     // samples, mean of those rounds
  std::vector<std::uint64_t> better;           // samples
  double seconds_now = 0, seconds_better = 0;  // of a round
  double begin = 0, end = 0;                   // of the rounds that it is fitted to
};

struct Finding {
  bool barrier = false;                // workers of a round wait for each other; else only speeds are known
  std::vector<WorkerFinding> workers;  // as in RunRecord::workers
  std::uint64_t rounds = 0;            // of training
  double seconds = 0, samples = 0;     // of these
  double waiting = 0, exchange = 0;    // shares of the time, 0..1; waiting is the mean of the workers
  double ideal_seconds = -1;           // had each round had its best split; -1: not known
  std::vector<Stretch> stretches;      // in the order of time
  std::optional<BetterSplit> better;

  // Who is waited for longest; none if nobody waits to speak of.
  [[nodiscard]] std::optional<std::uint32_t> culprit() const;
};

// Less waiting than this share of the time is not worth a word.
inline constexpr double little_waiting = 0.05;

Finding finding_of(const RunRecord& record, const RunTerms& terms);

}  // namespace steelyard
