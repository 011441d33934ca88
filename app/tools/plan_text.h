// A plan for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/tools/candidates.h"

namespace steelyard {

// What was measured of each worker; `model_mb` turns transfers into the speed of lines.
std::string measured_table(const std::vector<MeasuredWorker>& measured, std::uint64_t batch, double model_mb);

// The fastest ten, and of each mode that is not among them the fastest. `ranked` is not empty.
std::string candidate_table(const std::vector<Candidate>& ranked);

// Of each worker: the most samples a second with it and without it.
std::string worth_table(const std::vector<Candidate>& ranked, const std::vector<MeasuredWorker>& measured);

// What to know of a mode before it is taken; empty if nothing.
std::string caution(const PlanMode& mode);

// How near a prediction was.
std::string checked_text(double predicted, const RunRecord& trial);

// {"candidates":[{"sync","coded","workers":[...],"resting":[...],"samples_per_second","efficiency"}]}, the
// fastest first.
std::string candidates_json(const std::vector<Candidate>& ranked);

}  // namespace steelyard
