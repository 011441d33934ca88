// What a scenario can read devices from: profiles, recorded runs, traces.
//
// Each throws Failure (configuration) that names the file, the line where there is one, what is wrong, and
// what would be right.
#pragma once

#include <string>
#include <vector>

#include "sim/batch_time.h"
#include "sim/speed_trace.h"

namespace steelyard {

// A profile, as `steelyard profile` writes it: {"steelyard_profile": 1, "alone": [{"samples": 32, "ms": 1.9},
// ...], "together": [...]}. The times that were taken while all workers were running count, where there are
// any. A list "points" is allowed instead of the two.
std::vector<sim::MeasuredTime> read_profile(const std::string& path);

// What one worker did in each training round of a run: its rounds.jsonl. Rounds without it are left out.
std::vector<sim::MeasuredTime> read_recording(const std::string& path, const std::string& worker);
// The median of what the training rounds of a run took beyond their longest compute time, in ms.
double read_exchange_ms(const std::string& path);

// A CSV: "time_s,speed" or "time_s,cpu", and a line for each step (sim/speed_trace.h). Lines that are empty
// or begin with # are passed over.
sim::SpeedTrace read_trace(const std::string& path);

}  // namespace steelyard
