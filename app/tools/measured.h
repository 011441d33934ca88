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
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/report/run/run_record.h"
#include "sim/batch_time.h"

namespace steelyard {

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

}  // namespace steelyard
