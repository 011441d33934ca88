// LiveRun: a running job as a page, as a few lines of text, and as numbers for a monitor. It takes the lines
// that the recorder writes, so it shows exactly the record. Pure; for one thread.
//
// It keeps 300,000 parts of rounds at most: with ten workers 27,000 rounds, and 13,000 after it dropped old
// ones. Counters cover the whole run.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/report/run/run_record.h"
#include "core/json.h"

namespace steelyard {

// Monotonic counters of the whole run, for monitors.

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

// In Prometheus's text exposition format 0.0.4. `last_round`: the end of the last round, in seconds since
// 1970; 0 before the first round has ended.
struct RunLabels {
  std::string job, policy, sync;
  bool barrier = true;  // workers wait for each other; otherwise waiting and exchange are left out
};
std::string metrics_text(const RunCounters& counters, const RunLabels& labels, double last_round);

class LiveRun {
 public:
  static constexpr std::size_t usual_parts = 300'000;

  // `job`: job.toml of the run in `path`.
  LiveRun(std::string path, std::string job, std::size_t most_parts = usual_parts);

  // Complete lines of rounds.jsonl that arrived at `now`, in seconds since 1970, and of events.jsonl.
  void round_lines(std::string_view text, double now);
  void event_lines(std::string_view text);
  void ended(const std::string& result);  // result.json: the last state

  [[nodiscard]] std::uint64_t changes() const { return changes_; }  // a page is out of date if this differs
  [[nodiscard]] bool has_ended() const { return result_.known; }
  [[nodiscard]] Json document(double now) const;  // app/report/page/document.h
  [[nodiscard]] std::string status() const;       // JSON: the lines of `steelyard status`, and their numbers
  [[nodiscard]] std::string metrics() const;      // in Prometheus's format

 private:
  [[nodiscard]] ReportedRun run() const;

  const std::string path_, job_;
  const std::size_t most_parts_;
  RunReader reader_;
  RunCounters counters_;
  RunResult result_;
  double last_round_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace steelyard
