// Which of the measured workers could train under which sync mode, and how fast that would be: simulated.
// Pure.
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

// What short runs tell of each worker and its line, for `steelyard plan`. Pure, but for the file.
//
// Each worker trains alone with the servers, twice: whole batches with values as float32, and smaller batches
// with coded ones. A round alone takes
//
//   compute(share) + 2 latency + 2 transfer        with float32
//   compute(share) + 2 latency + 2 s transfer      with values coded in a share s of the bits
//
// and records have the compute time apart. So the medians of what is beyond it, e and e_s, give
// transfer = (e - e_s) / (2 (1 - s)) and latency = e / 2 - transfer; neither is below 0. The two batches give
// a curve of compute time. Latency has in it whatever else a round costs, that of the servers included.

struct MeasuredWorker {
  std::string name;
  std::vector<sim::MeasuredTime> curve;  // of compute time
  double noise = 0;                      // of one compute time, relative standard deviation
  double latency_ms = 0;                 // one way
  double transfer_ms = 0;                // of the model as float32, one way
  std::uint64_t max_batch = 0;           // of the hosts file, not of measurements; 0: no limit

  friend bool operator==(const MeasuredWorker&, const MeasuredWorker&) = default;
};

// What two runs of it alone tell; `coded_share` of the bits are what the second one sent. Throws Failure
// (failed) for a run in which it computed no full round.
MeasuredWorker measured_worker(const std::string& name, const RunRecord& whole, const RunRecord& coded,
                               double coded_share);

// How many samples a second a run trained, its first quarter left out: policies and lines take a while.
// 0 if there is no round. Rounds count their own length, so evaluations between them do not.
double steady_rate(const RunRecord& run);

// {"steelyard_measurements":1,"workers":[{"name","curve":[{"samples","ms"}],"noise","latency_ms",
// "transfer_ms"}]}
std::string measurements_text(const std::vector<MeasuredWorker>& workers);
// Throws Failure (configuration) that names `place`, what is wrong, and the remedy.
std::vector<MeasuredWorker> parse_measurements(const std::string& text, const std::string& place);

// Short runs of a job on some of its hosts, each as a person would start it: `steelyard launch`.
class Trials {
 public:
  // Runs go to `directory`/<name>, with the hosts they had in a .toml and what they said in a .log beside it.
  // `job` is a file; `options` those of `launch` that all runs have. When `interrupted` becomes true the run
  // at hand is told to end, and run() throws Failure (temporary).
  Trials(std::string directory, HostsFile hosts, std::string job, std::vector<std::string> options,
         const std::atomic<bool>& interrupted);

  // Trains for so many seconds without evaluation and checkpoints. Throws Failure for a run that failed, with
  // its reason.
  RunRecord run(const std::string& name, const std::vector<std::string>& workers, double seconds,
                const std::vector<std::string>& settings) const;

 private:
  const std::string directory_;
  const HostsFile hosts_;
  const std::string job_;
  const std::vector<std::string> options_;
  const std::atomic<bool>& interrupted_;
};

// A way to train: a sync mode, and how values travel under it.
struct PlanMode {
  std::string sync;
  bool coded = false;  // pushes and pulls with 4 bits; otherwise as the job says

  [[nodiscard]] std::string text() const { return coded ? sync + ", int4" : sync; }
};
// bsp; flexrr, whose workers hand over within a round; diloco:64 with int4.
const std::vector<PlanMode>& plan_modes();
// What a job has to be told to train so, under the policy `steelyard`.
std::vector<std::string> settings_of(const PlanMode& mode);

struct Candidate {
  PlanMode mode;
  std::vector<std::string> workers;  // in the order of what was measured
  double rate = 0;                   // samples a second
  double efficiency = 0;             // balancing/work_time.h
  std::vector<std::string> resting;  // of its workers, those that get no share
};

// A worker that is not there yet: like one that is, so many times as fast, behind a line as that one has.
struct AddedWorker {
  std::string name, like;
  double speed = 1;
};
// "big=half*2.5" or "second=half". Throws Failure (usage) that says what may stand there.
AddedWorker parse_added(const std::string& text);
// Throws Failure (usage) for a worker that is not measured, and a name that is taken.
void add_worker(std::vector<MeasuredWorker>& measured, const AddedWorker& added);

// Up to six workers: every set of them. Of more, in the order of their speed alone, exchange included, the
// fastest, the fastest two, and so on to all.
std::vector<std::vector<std::size_t>> worker_sets(const std::vector<MeasuredWorker>& measured,
                                                  std::uint64_t batch);

// `job` is complete (app/config/prepare_job.h).
double megabytes(const Job& job);  // of its parameters as float32, in millions of bytes
sim::Scenario scenario_of(const Job& job, const std::vector<MeasuredWorker>& measured,
                          const std::vector<std::size_t>& workers, const PlanMode& mode);

// All of them, simulated; the fastest first. `interrupted` ends it early with what there is.
std::vector<Candidate> ranked_candidates(const Job& job, const std::vector<MeasuredWorker>& measured,
                                         const std::vector<PlanMode>& modes,
                                         const std::function<bool()>& interrupted = {});

}  // namespace steelyard
