// LiveRun: a run under way, as those see it who look on: a page, a few lines, numbers for a monitor. It takes
// the lines that the recorder writes, so what is shown is what is recorded. Pure; of one thread.
//
// It keeps the rounds of so many workers' parts at most: at ten workers, some 27,000 rounds, and 13,000 when
// it has just left out old ones. Counters are of all.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "app/report/run/run_record.h"

namespace steelyard {

// What of a run is only ever added to, for monitors: they ask now and then, and subtract.

struct WorkerCounters {
  std::uint64_t rounds = 0, samples = 0;
  double computing = 0, waiting = 0;  // seconds
  std::uint64_t share = 0;            // of the last round of training; 0: it was not in it
};

struct RunCounters {
  // Rounds that took at most so many seconds; powers of ten, and twice and five times as much.
  static constexpr std::array<double, 19> bounds{1e-3, 2e-3, 5e-3, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1,
                                                 2,    5,    10,   20,   50,   100,  200, 500, 1000};
  static constexpr std::size_t most_workers = 1000;  // by name; those beyond are counted as one, `others`
  static constexpr const char* others = "(others)";

  std::array<std::uint64_t, bounds.size() + 1> rounds_within{};  // not added up; the last: longer than all
  std::uint64_t rounds = 0, evaluations = 0, samples = 0;
  double seconds = 0, exchange = 0;                                                 // of training
  double loss = -1, accuracy = -1, test_loss = -1, test_accuracy = -1, ideal = -1;  // the last; -1: none
  std::uint64_t epoch = 0, round = 0;  // of the last round, counted from 1
  std::map<std::string, WorkerCounters> workers;

  // `names` are those of the round's parts.
  void add(const RunRound& round, const std::vector<std::string>& names);

 private:
  WorkerCounters& counters_of(const std::string& name);
};

// In Prometheus's text exposition format 0.0.4. `job`, `policy` and `sync` are those of the run; `last_round`
// is when the last round ended, in seconds since 1970, and 0 before there was one.
struct RunLabels {
  std::string job, policy, sync;
  bool barrier = true;  // workers wait for each other; else nothing is said of waiting and exchange
};
std::string metrics_text(const RunCounters& counters, const RunLabels& labels, double last_round);

class LiveRun {
 public:
  static constexpr std::size_t usual_parts = 300'000;

  // `job` is job.toml of the run in `path`.
  LiveRun(std::string path, std::string job, std::size_t most_parts = usual_parts);

  // Whole lines of rounds.jsonl that came at `now`, in seconds since 1970, and of events.jsonl.
  void round_lines(std::string_view text, double now);
  void event_lines(std::string_view text);

  [[nodiscard]] std::uint64_t changes() const { return changes_; }  // so far: another number, another page
  [[nodiscard]] std::string page() const;                           // HTML; what changes of it is part()
  [[nodiscard]] std::string part() const;
  [[nodiscard]] std::string status() const;   // JSON: the lines of `steelyard status`, and their numbers
  [[nodiscard]] std::string metrics() const;  // in Prometheus's format

 private:
  [[nodiscard]] ReportedRun run() const;

  const std::string path_, job_;
  const std::size_t most_parts_;
  RunReader reader_;
  RunCounters counters_;
  double last_round_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace steelyard
