// The status of a run in a few lines for a terminal: progress, workers, speed, and one line of advice. Pure.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/report/run/finding.h"

namespace steelyard {

// Unknown numbers are negative.
struct RunStatus {
  RunRecord record;                    // the last 50 rounds: speeds, shares and waiting are theirs
  Finding finding;                     // likewise
  std::uint64_t epoch = 0, round = 0;  // of the last round that ended, counted from 1; 0: none
  double done = -1;                    // share_done()
  double seconds_left = -1;
  double accuracy = -1;    // at the last evaluation, 0..1
  double test_loss = NAN;  // likewise; unknown: NaN
  TestError error{};       // likewise

  [[nodiscard]] double samples_per_second() const {
    return finding.samples / std::max(finding.seconds, 1e-9);
  }
  [[nodiscard]] double ideal() const {  // 0..1
    return finding.ideal_seconds < 0 ? -1 : finding.ideal_seconds / std::max(finding.seconds, 1e-9);
  }
};
RunStatus status_of(const ReportedRun& run);

// Workers that computed nothing in the rounds of `status`, and why: idle, left, lost; by the notes of the
// scheduler.
std::vector<std::pair<std::string, std::string>> workers_without_rounds(const ReportedRun& run,
                                                                        const RunStatus& status);
// The workers of the job that have not joined, by the notes of the scheduler.
std::vector<std::string> missing_workers(const ReportedRun& run);
// What a running job whose first round has not ended waits for.
std::string awaited_text(const ReportedRun& run);

// `state` is a word: "running", "finished".
std::string status_text(const ReportedRun& run, const std::string& state);
// "epoch 2 of 10, round 1,140, 0:42 left"; without the time left unless the run is `running`.
std::string progress_text(const ReportedRun& run, const RunStatus& status, bool running);

// Share of the training that is over, 0..1, by the nearest limit; negative if unknown: the number of rounds
// in an epoch is known after the first epoch.
double share_done(const ReportedRun& run);

}  // namespace steelyard
