// The report of one run or several as one page that needs nothing beside itself. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/report/run/run_record.h"

namespace steelyard {

// The whole of a run against time: shares, compute times, use of the time, speed, loss and accuracy. Pure.

// A line for each of `workers`. `marks`: seconds at which something happened.
std::string run_plots(const ReportedRun& run, const std::vector<std::uint32_t>& workers,
                      const std::vector<double>& marks);

// Accuracy on the test set, a line a run; empty where fewer than two runs were evaluated.
std::string accuracy_of_all(const std::vector<ReportedRun>& runs);

std::string run_page(const std::vector<ReportedRun>& runs);

// What changes of a run under way (app/report/live/live_run.h): a line on where it stands, and all of the
// page.
std::string run_part(const ReportedRun& run);

}  // namespace steelyard
