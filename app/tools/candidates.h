// `steelyard plan`: measures workers in short trials, and simulates each set of workers under each sync mode.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "app/config/hosts_file.h"
#include "app/report/run/run_record.h"
#include "protocol/job.h"
#include "sim/batch_time.h"
#include "sim/scenario.h"

namespace steelyard {

// Measurements of each worker and its link. Pure.
//
// Each worker trains alone with the servers, twice: with whole batches and float32 values, and with smaller
// batches and encoded values. A round takes
//
//   compute(share) + 2 latency + 2 transfer        with float32
//   compute(share) + 2 latency + 2 s transfer      with values encoded in a share s of the bits
//
// and the record has the compute time separately. Let e and e_s be the medians of the remaining time. Then
// transfer = (e - e_s) / (2 (1 - s)) and latency = e / 2 - transfer, neither below 0. The two batch sizes
// give a curve of compute time. The latency includes all other costs of a round, those of the servers among
// them.

struct MeasuredWorker {
  std::string name;
  std::vector<sim::MeasuredTime> curve;  // compute time by batch size
  double noise = 0;                      // relative standard deviation of one compute time
  double latency_ms = 0;                 // one way
  double transfer_ms = 0;                // of the model as float32, one way
  std::uint64_t max_batch = 0;           // from the hosts file, not measured; 0: no limit

  friend bool operator==(const MeasuredWorker&, const MeasuredWorker&) = default;
};

// Computes the measurements from the two runs of a worker alone; the second run sent `coded_share` of the
// bits. Throws Failure (failed) if it did not complete two full rounds in a run.
MeasuredWorker measured_worker(const std::string& name, const RunRecord& whole, const RunRecord& coded,
                               double coded_share);

// Samples per second of a run, without its first quarter, in which policies and connections settle. 0 without
// a round. Counts the time of training rounds only, not of evaluations between them.
double steady_rate(const RunRecord& run);

// {"steelyard_measurements":1,"workers":[{"name","curve":[{"samples","ms"}],"noise","latency_ms",
// "transfer_ms"}]}
std::string measurements_text(const std::vector<MeasuredWorker>& workers);
// Throws Failure (configuration) with `place`, the error and the remedy.
std::vector<MeasuredWorker> parse_measurements(const std::string& text, const std::string& place);

// The compute times of these workers as lines, for cluster.profile_ms: "half: 5.9 0.59; slow: 8.3 0.6".
std::string profile_ms_of(const std::vector<MeasuredWorker>& measured,
                          const std::vector<std::string>& workers);

// Short runs of a job on some of its hosts, each started with `steelyard launch`.
class Trials {
 public:
  // Runs go to `directory`/<name>, with their hosts file in <name>.toml and their output in <name>.log. `job`
  // is a file; `options` are passed to `launch` in all runs. When `interrupted` becomes true the current run
  // is stopped, and run() throws Failure (temporary).
  Trials(std::string directory, HostsFile hosts, std::string job, std::vector<std::string> options,
         const std::atomic<bool>& interrupted);

  // Trains for this time without evaluation and checkpoints. Throws Failure, with the reason, if the run
  // fails.
  RunRecord run(const std::string& name, const std::vector<std::string>& workers, double seconds,
                const std::vector<std::string>& settings) const;

 private:
  const std::string directory_;
  const HostsFile hosts_;
  const std::string job_;
  const std::vector<std::string> options_;
  const std::atomic<bool>& interrupted_;
};

// A sync mode with an encoding of values.
struct PlanMode {
  std::string sync;
  bool coded = false;  // true: pushes and pulls use int4; false: the job's encodings

  [[nodiscard]] std::string text() const { return coded ? sync + ", int4" : sync; }
};
// bsp; flexrr, in which workers hand over samples within a round; diloco:64 with int4.
const std::vector<PlanMode>& plan_modes();
// The --set values for this mode, under the policy `steelyard`.
std::vector<std::string> settings_of(const PlanMode& mode);

struct Candidate {
  PlanMode mode;
  std::vector<std::string> workers;  // in the order of the measurements
  double rate = 0;                   // samples per second
  double efficiency = 0;             // balancing/work_time.h
  std::vector<std::string> resting;  // the workers that get no share
};

// A worker that does not exist yet: `speed` times as fast as worker `like`, with the same link.
struct AddedWorker {
  std::string name, like;
  double speed = 1;
};
// Parses "big=half*2.5" or "second=half". Throws Failure (usage) with the expected form.
AddedWorker parse_added(const std::string& text);
// Throws Failure (usage) if `like` is not measured, or the name is already in use.
void add_worker(std::vector<MeasuredWorker>& measured, const AddedWorker& added);

// The sets of workers to simulate. Up to six workers: all sets. More: the fastest one, the fastest two, and
// so on, ordered by their speed alone, exchange included.
std::vector<std::vector<std::size_t>> worker_sets(const std::vector<MeasuredWorker>& measured,
                                                  std::uint64_t batch);

// `job` is complete (app/config/prepare_job.h).
double megabytes(const Job& job);  // size of its parameters as float32, in millions of bytes
sim::Scenario scenario_of(const Job& job, const std::vector<MeasuredWorker>& measured,
                          const std::vector<std::size_t>& workers, const PlanMode& mode);

// Samples per second, simulated.
double predicted_rate(const Job& job, const std::vector<MeasuredWorker>& measured,
                      const std::vector<std::size_t>& workers, const PlanMode& mode);

// Simulates all candidates and returns them, the fastest first. If `interrupted` returns true, stops early
// and returns the candidates simulated by then.
std::vector<Candidate> ranked_candidates(const Job& job, const std::vector<MeasuredWorker>& measured,
                                         const std::vector<PlanMode>& modes,
                                         const std::function<bool()>& interrupted = {});

}  // namespace steelyard
