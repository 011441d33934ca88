// LiveRun: a run under way, as those see it who look on: a page, a few lines, numbers for a monitor. It takes
// the lines that the recorder writes, so what is shown is what is recorded. Pure; of one thread.
//
// It keeps the rounds of so many workers' parts at most: at ten workers, some 27,000 rounds, and 13,000 when
// it has just left out old ones. Counters are of all.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/report/live/counters.h"
#include "app/report/run/reported_run.h"
#include "app/report/run/run_record.h"

namespace steelyard {

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
  [[nodiscard]] std::string metrics() const;  // app/report/live/counters.h

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
