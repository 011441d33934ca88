// A run in a few sentences, as HTML: who held the others up, when, and what a better split would bring. Pure.
#pragma once

#include <string>

#include "app/report/run/finding.h"
#include "app/report/run/run_record.h"

namespace steelyard {

std::string finding_text(const ReportedRun& run, const Finding& finding);

// Each worker's share as it was in the worst stretch, and as it should have been; empty without a better one.
std::string better_table(const RunRecord& record, const Finding& finding);

}  // namespace steelyard
