// The charts of a run: loss, accuracy, shares, compute times, use of the time, speed. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "app/report/page/document.h"
#include "app/report/run/run_record.h"

namespace steelyard {

inline constexpr std::size_t most_chart_lines = 16;  // workers in a chart

// In this order; null without a point. A line for each of `workers`, of at most `points` buckets. `marks`:
// seconds and texts of events.
std::vector<Json> run_charts(const ReportedRun& run, const std::vector<std::uint32_t>& workers,
                             const std::vector<std::pair<double, std::string>>& marks, std::size_t points);

// Test accuracy, a line for each run; null if fewer than two runs were evaluated.
Json accuracy_of_all(const std::vector<ReportedRun>& runs, const std::string& note);

}  // namespace steelyard
