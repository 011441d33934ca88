// Reads the files that describe devices in a scenario: profiles, recorded runs, traces.
//
// Each function throws Failure (configuration) with the file, the line if known, the error and the remedy.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/batch_time.h"

namespace steelyard {

// A profile, as `steelyard profile` writes it: {"steelyard_profile": 1, "alone": [{"samples": 32, "ms": 1.9},
// ...], "together": [...]}. Returns "together" (all workers running) if present, otherwise "alone". A list
// "points" may replace the two.
std::vector<sim::MeasuredTime> read_profile(const std::string& path);

// Share and compute time of one worker in each training round of a run (rounds.jsonl); 0 samples in rounds
// without it.
std::vector<sim::MeasuredTime> read_recording(const std::string& path, const std::string& worker);
// The exchange time of a run in ms: the median over its training rounds of their time beyond the longest
// compute time.
double read_exchange_ms(const std::string& path);

// A run, summarised from its training rounds.
struct RecordedWorker {
  std::string name;
  std::uint64_t first_round = 0;  // the first one with a share of it, counted from the begin of the record
};
struct RecordedRun {
  std::vector<RecordedWorker> workers;  // in the order of their names
  std::uint64_t rounds = 0;
  double seconds = 0;               // of all rounds together
  double exchange_ms = 0;           // mean time of a round beyond its longest compute time
  std::uint64_t epoch_samples = 0;  // the largest end position of a round
};
RecordedRun read_record(const std::string& path);

// A CSV: "time_s,speed" or "time_s,cpu", and a line for each step (sim/simulated_device.h). Empty lines and
// lines that begin with # are ignored.
sim::SpeedTrace read_trace(const std::string& path);

// Replay: turns a recorded run into a scenario of the same cluster and job, for `steelyard replay`.
//
// In round k each worker takes the time recorded there, scaled to its share along a line fitted through all
// its rounds; the exchange takes the run's mean (read_record()). A worker that joined later joins in the same
// round. A run does not record a GPU's memory beyond max_batch, the grain of models with batch norm, or why a
// worker had no share in some rounds; in those rounds it keeps its earlier speed.

struct Replay {
  std::string scenario;      // TOML; the paths in it are absolute
  std::string policy, sync;  // of the run
  double seconds = 0;        // of its training rounds
  std::uint64_t rounds = 0;
};

// The scenario of a run directory, without the workers in `without`. Throws Failure (configuration) with the
// file and the remedy if it is not a run, has no such worker, has no worker left, or used local steps: their
// rounds do not show the time of single steps.
Replay replay_of(const std::string& run, const std::vector<std::string>& without = {});

}  // namespace steelyard
