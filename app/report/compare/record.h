// What a real run left behind, as a trial. Pure: takes the texts of the files.
#pragma once

#include <string>
#include <string_view>

#include "app/report/compare/comparison.h"

namespace steelyard {

// Of the run's rounds.jsonl (app/report/recorder.h) and result.json. A run that did not finish gives a trial
// with the reason as its failure. Lines that cannot be read are left out: a disk may have been full.
//
// `sync` decides what an update is and whether there is a percentage of the ideal: the ideal is that of a
// cluster that waits for the slowest in every round, so there is none where workers do not wait.
Trial trial_of(std::string_view rounds, const std::string& result, const std::string& sync);

// Whether the workers of a round wait for each other in this mode.
bool has_barrier(const std::string& sync);

// The worker that computed the most samples a second over all these runs; empty if none computed. The
// exchange costs each worker the same, so it is also the one that is soonest done alone.
std::string fastest_worker(const Comparison& comparison);

}  // namespace steelyard
