// `steelyard plan`: finds the fastest workers and sync mode. Short trials measure every worker and its link,
// the simulator predicts the speed of each candidate, and one more trial checks the best prediction.
#pragma once

#include <string>
#include <vector>

#include "app/launch/launch_plan.h"
#include "app/tools/candidates.h"

namespace steelyard {

// ---- the tables of a plan. Pure.

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

// {"candidates":[{"sync","coded","workers":[...],"resting":[...],"samples_per_second","efficiency"}]}, the
// fastest first.
std::string candidates_json(const std::vector<Candidate>& ranked);

struct PlanCommand {
  std::string hosts_file, job_file;
  std::vector<std::string> overrides;  // key=value
  std::vector<std::string> without;    // workers
  std::vector<std::string> added;      // NAME=LIKE, NAME=LIKE*SPEED
  std::string measured;                // a file of an earlier plan; empty: run trials
  std::string output;                  // a file for the measurements, or - for standard output; empty: none
  std::string run_directory;           // empty: runs/plan-<name>-N
  std::string exchange = exchanges.front();  // of trials, as for launch
  double seconds = 0;                        // length of one trial; 0: all trials take about a minute
  bool check = true;
};

void run_plan(const PlanCommand& command);

}  // namespace steelyard
