// `steelyard plan`: is it worth adding this machine? Short trials measure every worker and its line, the
// simulator tries the ways in which they could train, and one more trial tells how near it was.
#pragma once

#include <string>
#include <vector>

#include "app/launch/launch_plan.h"
#include "app/tools/candidates.h"

namespace steelyard {

// A plan for people. Pure.

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

struct PlanCommand {
  std::string hosts_file, job_file;
  std::vector<std::string> overrides;  // key=value
  std::vector<std::string> without;    // workers
  std::vector<std::string> added;      // NAME=LIKE, NAME=LIKE*SPEED
  std::string measured;                // a file of an earlier plan; empty: trials
  std::string output;                  // a file for what was measured, or - for standard output; empty: none
  std::string run_directory;           // empty: runs/plan-<name>-N
  std::string exchange = exchanges.front();  // of trials, as launch takes it
  double seconds = 0;                        // of one trial; 0: all of them take about a minute
  bool check = true;
};

void run_plan(const PlanCommand& command);

}  // namespace steelyard
