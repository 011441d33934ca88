// Where a run stands, in a few lines for a terminal: how far it is, who works, how fast, and one line of
// advice. Pure.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "app/report/run/finding.h"

namespace steelyard {

// Where it stands, in numbers. What is not known is negative.
struct RunStatus {
  RunRecord record;                    // of the last 50 rounds: what speeds, shares and waiting are of
  Finding finding;                     // likewise
  std::uint64_t epoch = 0, round = 0;  // that ended last, counted from 1; 0: none
  double done = -1;                    // share_done()
  double seconds_left = -1;
  double accuracy = -1;  // at the last evaluation, 0..1

  [[nodiscard]] double samples_per_second() const {
    return finding.samples / std::max(finding.seconds, 1e-9);
  }
  [[nodiscard]] double ideal() const {  // 0..1
    return finding.ideal_seconds < 0 ? -1 : finding.ideal_seconds / std::max(finding.seconds, 1e-9);
  }
};
RunStatus status_of(const ReportedRun& run);

// `state` is a word: "running", "finished".
std::string status_text(const ReportedRun& run, const std::string& state);
// Its first line, without the run: "running, epoch 2 of 10, round 140, 0:42 left".
std::string headline(const ReportedRun& run, const RunStatus& status, const std::string& state);

// How much of the training is over, 0..1, by the limit that is nearest; negative if the record does not tell:
// how many rounds an epoch has is known after the first.
double share_done(const ReportedRun& run);

}  // namespace steelyard
