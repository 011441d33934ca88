// `steelyard profile`: how long this machine takes for batches of different sizes, with the real model, data
// and kernels: one worker alone, then all at once, who share caches, memory and processors.
//
// Sizes take turns, up and down, in every repeat, so that a machine that gets slower or warmer meanwhile does
// not bend the curve.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/job_file.h"

namespace steelyard {

// What a profile consists of, and how it is shown: sizes of batches, times, and how sure they are. Pure.

struct ProfilePoint {
  std::uint64_t samples = 0;
  double ms = 0;      // the median
  double spread = 0;  // between the quartiles, relative to the median: half of the measurements lie in it
};

struct Profile {
  std::string name, device;
  unsigned threads = 1;  // of each worker, where the device is a CPU
  std::string precision = "float32", model, data;
  unsigned workers = 1, repeats = 0;
  std::vector<ProfilePoint> alone;     // one worker, no other
  std::vector<ProfilePoint> together;  // each of all workers, all of them computing
};

// 1, 2, 4, 8, then in steps of a half: 12, 16, 24, 32, 48, ... and `most` itself, all counted in grains
// (Job::grain), of which `most` samples hold at least one.
std::vector<std::uint64_t> profile_sizes(std::uint64_t most, std::uint64_t grain = 1);

// The point that measurements in seconds make. They are not empty.
ProfilePoint profile_point(std::uint64_t samples, std::vector<double> seconds);

// A line through the points, low order first, in ms: what `time_ms` of a scenario and `curves_ms` of the
// policy `static` take. Fitted to relative errors; neither term is negative. `error` is the largest relative
// one.
struct ProfileLine {
  double constant = 0, per_sample = 0, error = 0;
};
ProfileLine profile_line(const std::vector<ProfilePoint>& points);

std::string profile_table(const Profile& profile);
std::string profile_json(const Profile& profile);  // what a scenario's worker names with profile = "FILE"

struct ProfileCommand {
  std::string job_file;  // empty: the defaults of a job
  std::vector<std::string> overrides;
  WorkerSpec computing;     // device, threads and precision of each worker
  std::string model, data;  // empty: as the job says
  std::string name;         // of this machine; empty: its host name
  unsigned workers = 0;     // 0: as many as processors have room for
  std::uint64_t max_batch = 512;
  unsigned repeats = 9;
  std::string output;
  bool quiet = false;
};

void run_profile(const ProfileCommand& command);

}  // namespace steelyard
