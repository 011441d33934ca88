// LiveRun: a running job as a page, as a few lines of text, and as numbers for a monitor. It takes the lines
// that the recorder writes, so it shows exactly the record. Pure; for one thread.
//
// It keeps 300,000 parts of rounds at most: with ten workers 27,000 rounds, and 13,000 after it dropped old
// ones. Counters cover the whole run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "app/report/live/metrics_text.h"
#include "app/report/run/run_record.h"
#include "core/json.h"

namespace steelyard {

class LiveRun {
 public:
  static constexpr std::size_t usual_parts = 300'000;

  // `job`: job.toml of the run in `path`.
  LiveRun(std::string path, std::string job, std::size_t most_parts = usual_parts);

  // Complete lines of rounds.jsonl that arrived at `now`, in seconds since 1970, and of events.jsonl.
  void round_lines(std::string_view text, double now);
  void event_lines(std::string_view text);
  void ended(const std::string& result);  // result.json: the last state

  void life(RunLife life);  // for a reader of its files; `since_round` is not taken

  [[nodiscard]] std::uint64_t changes() const { return changes_; }  // a page is out of date if this differs
  [[nodiscard]] bool has_ended() const { return result_.known; }
  // `now`: seconds since 1970.
  [[nodiscard]] Json document(double now) const;       // app/report/page/document.h
  [[nodiscard]] std::string status(double now) const;  // app/report/run/status_json.h, as text
  [[nodiscard]] RunMetrics metrics(double now) const;

 private:
  [[nodiscard]] ReportedRun run(double now) const;

  const std::string path_, job_;
  const std::size_t most_parts_;
  RunReader reader_;
  RunCounters counters_;
  RunResult result_;
  RunLife life_{.training = true};
  double last_round_ = 0;
  std::uint64_t changes_ = 0;
};

}  // namespace steelyard
