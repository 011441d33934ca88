// What a scenario can read devices from: profiles, recorded runs, traces.
//
// Each throws Failure (configuration) that names the file, the line where there is one, what is wrong, and
// what would be right.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/batch_time.h"

namespace steelyard {

// A profile, as `steelyard profile` writes it: {"steelyard_profile": 1, "alone": [{"samples": 32, "ms": 1.9},
// ...], "together": [...]}. The times that were taken while all workers were running count, where there are
// any. A list "points" is allowed instead of the two.
std::vector<sim::MeasuredTime> read_profile(const std::string& path);

// What one worker did in each training round of a run: its rounds.jsonl. In rounds without it, no samples.
std::vector<sim::MeasuredTime> read_recording(const std::string& path, const std::string& worker);
// The median of what the training rounds of a run took beyond their longest compute time, in ms.
double read_exchange_ms(const std::string& path);

// What a run was, as its training rounds tell.
struct RecordedWorker {
  std::string name;
  std::uint64_t first_round = 0;  // in which it had a share, counted from the first of the record
};
struct RecordedRun {
  std::vector<RecordedWorker> workers;  // in the order of their names
  std::uint64_t rounds = 0;
  double seconds = 0;               // of all rounds together
  double exchange_ms = 0;           // what they took beyond their longest compute time, on average
  std::uint64_t epoch_samples = 0;  // the furthest position that a round came to
};
RecordedRun read_record(const std::string& path);

// A CSV: "time_s,speed" or "time_s,cpu", and a line for each step (sim/simulated_device.h). Lines that are
// empty or begin with # are passed over.
sim::SpeedTrace read_trace(const std::string& path);

// Replay: a run that was recorded, as a scenario of the same cluster and job, for `steelyard replay` to ask
// what would have been.
//
// Each worker takes in round k what it took there, scaled to another share along the line through all its
// rounds; the exchange takes the run's mean in each (read_record()). A worker that came later
// comes in that round. What a run does not tell: a GPU's memory beyond max_batch, the grain of models with
// batch norm, and why a worker had no share in some rounds; so there it is taken to be as it was before.

struct Replay {
  std::string scenario;      // TOML; the paths in it are absolute
  std::string policy, sync;  // of the run
  double seconds = 0;        // that its training rounds took
  std::uint64_t rounds = 0;
};

// Of a run directory; `without` are workers to leave out. Throws Failure (configuration) that names the file
// and the remedy: for what is no run, a worker that is not in it, nobody left, and a run of local steps,
// whose rounds say nothing of single steps.
Replay replay_of(const std::string& run, const std::vector<std::string>& without = {});

}  // namespace steelyard
