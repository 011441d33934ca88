// The document of one run or several (app/report/page/document.h): the report, and the page of a running job.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "app/report/page/document.h"
#include "app/report/run/run_record.h"

namespace steelyard {

// How much of a run a page carries: buckets of a chart line, and rounds that are exact in the lanes.
struct PageDetail {
  std::size_t points = 2000, exact = 500;
};

Json run_document(const std::vector<ReportedRun>& runs);
// The page of a running job, with less detail since browsers fetch it every two seconds.
Json live_document(const ReportedRun& run);

}  // namespace steelyard
