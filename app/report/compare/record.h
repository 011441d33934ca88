// Reads the record of a real run as a trial, from the texts of its files. Pure.
#pragma once

#include <string>
#include <string_view>

#include "app/report/compare/comparison.h"

namespace steelyard {

// Takes rounds.jsonl (app/report/recorder.h) and result.json. A run that did not finish gives a trial with
// the reason as its failure. Lines that cannot be read are skipped: the disk may have been full.
//
// `sync` defines an update. It also decides whether the trial has a percent of ideal: in modes without a
// barrier the ideal is undefined.
Trial trial_of(std::string_view rounds, const std::string& result, const std::string& sync);

// Whether the workers of a round wait for each other in this mode.
bool has_barrier(const std::string& sync);

// The worker with the most samples/s over all these runs; empty without samples. The exchange costs each
// worker the same, so this worker is also the fastest alone.
std::string fastest_worker(const Comparison& comparison);

}  // namespace steelyard
