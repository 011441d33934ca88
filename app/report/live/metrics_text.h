// Numbers of runs in Prometheus's text exposition format 0.0.4. Pure.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/report/run/run_record.h"
#include "app/report/run/run_state.h"

namespace steelyard {

// Monotonic counters of a whole run.

struct WorkerCounters {
  std::uint64_t rounds = 0, samples = 0;
  double computing = 0, waiting = 0;  // seconds
  std::uint64_t share = 0;            // of the last round of training; 0: it had no samples
};

struct RunCounters {
  // Upper bounds of the histogram of round times, in seconds.
  static constexpr std::array<double, 19> bounds{1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,
                                                 2,    5,    10,   20,   50,   100,  200, 500, 1000};
  static constexpr std::size_t most_workers = 1000;  // by name; further workers count as one, `others`
  static constexpr const char* others = "(others)";

  std::array<std::uint64_t, bounds.size() + 1>
      rounds_within{};  // not cumulative; the last: longer than all bounds
  std::uint64_t rounds = 0, evaluations = 0, samples = 0;
  double seconds = 0, exchange = 0;                                                 // of training
  double loss = -1, accuracy = -1, test_loss = -1, test_accuracy = -1, ideal = -1;  // the last; -1: none
  TestError error{};                                                                // at the last evaluation
  std::uint64_t epoch = 0, round = 0;  // of the last round, counted from 1
  std::map<std::string, WorkerCounters> workers;

  // `names`: the workers that the parts of the round refer to.
  void add(const RunRound& round, const std::vector<std::string>& names);

 private:
  WorkerCounters& counters_of(const std::string& name);
};

struct RunMetrics {
  std::string run;                // its directory
  std::string job, policy, sync;  // name of the job, and its words
  bool barrier = true;            // workers wait for each other; otherwise waiting and exchange are left out
  RunCounters counters{};
  double last_round = 0;  // its end, in seconds since 1970; 0: none has ended
  StateOfRun state{};
  std::uint64_t idle_workers = 0;                        // joined, and without samples in the last rounds
  std::optional<std::uint64_t> shards_without_mirror{};  // nothing: the job has no mirrors
};

// One run, whose address names it.
std::string metrics_text(const RunMetrics& run);
// Several runs: every sample has the labels job and run.
std::string metrics_text(const std::vector<RunMetrics>& runs);

}  // namespace steelyard
