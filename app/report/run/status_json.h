// The status of a run as JSON: the lines of `steelyard status`, and their numbers. Pure.
#pragma once

#include "app/report/run/run_record.h"
#include "core/json.h"

namespace steelyard {

// {"format","run","state","reason","text","epoch","round","done","seconds_left","samples_per_second",
// "percent_of_ideal","accuracy","test_loss","workers":[{"name","samples_a_round","samples_per_second",
// "waiting","without_samples"?}]}; null: unknown.
Json status_json(const ReportedRun& run);

}  // namespace steelyard
