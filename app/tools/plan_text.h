// The tables of `steelyard plan`, and the same facts as JSON. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/tools/candidates.h"
#include "core/json.h"

namespace steelyard {

// The measurements of each worker; `model_mb` converts transfer times to link speeds.
std::string measured_table(const std::vector<MeasuredWorker>& measured, std::uint64_t batch, double model_mb);

// The ten fastest candidates, and the fastest of each mode that is not among them. `ranked` must not be
// empty.
std::string candidate_table(const std::vector<Candidate>& ranked);

// For each worker: the most samples per second with it and without it.
std::string worth_table(const std::vector<Candidate>& ranked, const std::vector<MeasuredWorker>& measured);

// A warning about a mode; empty if it needs none.
std::string caution(const PlanMode& mode);

// A faster candidate whose mode trains differently.
std::string other_mathematics_text(const Candidate& best, const Candidate& other);

// Compares a prediction with a trial.
std::string checked_text(double predicted, const RunRecord& trial);

// A candidate that a plan recommends or offers.
struct Recommended {
  const Candidate* candidate = nullptr;
  std::string hosts_file, command;  // that start it
  double measured = -1;             // samples per second of its trial; -1: there was none
};

// {"sync","coded","workers":[...],"resting":[...],"samples_per_second","efficiency"}
Json candidate_json(const Candidate& it);
// The same for all, the fastest first: {"format","candidates":[...]}.
std::string candidates_json(const std::vector<Candidate>& ranked);
// The candidates, the gain of each worker, the best candidate, and one with other mathematics (`other`, which
// may be null). `compared`: the candidates with the mathematics of the job.
Json plan_json(const std::vector<Candidate>& ranked, const std::vector<Candidate>& compared,
               const std::vector<MeasuredWorker>& measured, const Recommended& best,
               const Recommended* other);

}  // namespace steelyard
