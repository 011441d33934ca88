// The report of one run or several as one page that needs nothing beside itself. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/report/run/reported_run.h"

namespace steelyard {

std::string run_page(const std::vector<ReportedRun>& runs);

// What changes of a run under way (app/report/live/live_run.h): a line on where it stands, and all of the page.
std::string run_part(const ReportedRun& run);

}  // namespace steelyard
