// Finds the worker that held the others up, the time in which it did, and the gain of a better split. Pure.
//
// Where the workers of a round wait for each other:
//
//   waiting_i(k) = max_j compute_j(k) - compute_i(k)
//   exchange(k)  = length of the round - max_j compute_j(k)
//
// The waiting of a round, a mean over the others, counts for its slowest worker. The better split is the best
// one on curves fitted as for the percent of ideal (balancing/ideal.h), over the last 64 rounds of the
// stretch with the most waiting among those of ten rounds or more, with their median exchange. A gain below 5
// % is no better split.
#pragma once

#include <optional>

#include "app/report/run/run_record.h"

namespace steelyard {

struct WorkerFinding {
  std::uint64_t rounds = 0;                           // in which it computed
  double samples = 0;                                 // of all these rounds
  double computing = 0, waiting = 0, exchanging = 0;  // seconds
  std::uint64_t last = 0;                             // rounds in which it was the slowest of several
  double held = 0;                                    // seconds that the others waited for it, on average

  [[nodiscard]] double speed() const { return computing > 0 ? samples / computing : 0; }
};

// Time in which the others waited for one worker; it begins and ends with a round.
struct Stretch {
  std::uint32_t worker = 0;
  double begin = 0, end = 0;
  double waiting = 0;               // share of this time, 0..1
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
  bool barrier = false;  // workers of a round wait for each other; otherwise only speeds are known
  std::vector<WorkerFinding> workers;  // as in RunRecord::workers
  std::uint64_t rounds = 0;            // of training
  double seconds = 0, samples = 0;     // of these
  double waiting = 0, exchange = 0;    // shares of the time, 0..1; waiting is a mean over the workers
  double ideal_seconds = -1;           // with the best split of every round; -1: unknown
  std::vector<Stretch> stretches;      // in the order of time
  std::optional<BetterSplit> better;

  // The worker that the others waited for longest; nothing if they waited less than `little_waiting`.
  [[nodiscard]] std::optional<std::uint32_t> culprit() const;
};

// Less waiting than this share of the time is not reported.
inline constexpr double little_waiting = 0.05;

Finding finding_of(const RunRecord& record, const RunTerms& terms);

}  // namespace steelyard
