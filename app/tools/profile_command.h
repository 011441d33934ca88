// `steelyard profile`: measures the compute time of this machine by batch size, with the real model, data and
// kernels: for one worker alone, then for all at once, which share caches, memory and processors.
//
// Each repeat measures all sizes, in alternating order, so that a machine that slows down or warms up
// meanwhile does not distort the curve.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "app/config/job_file.h"

namespace steelyard {

// ---- the contents of a profile and its output. Pure.

struct ProfilePoint {
  std::uint64_t samples = 0;
  double ms = 0;      // the median
  double spread = 0;  // interquartile range relative to the median
};

struct Profile {
  std::string name, device;
  unsigned threads = 1;  // of each worker, where the device is a CPU
  std::string precision = "float32", model, data;
  unsigned workers = 1, repeats = 0;
  std::vector<ProfilePoint> alone;     // one worker
  std::vector<ProfilePoint> together;  // each worker while all of them compute
};

// The batch sizes to measure, in samples: 1, 2, 4, 8, 12, 16, 24, 32, 48, ... grains (Job::grain), up to
// `most` samples, which are at least one grain.
std::vector<std::uint64_t> profile_sizes(std::uint64_t most, std::uint64_t grain = 1);

// Summarises measurements in seconds, at least one.
ProfilePoint profile_point(std::uint64_t samples, std::vector<double> seconds);

// A line through the points in ms, low order first, for `time_ms` of a scenario and `curves_ms` of the policy
// `static`. Minimises relative errors; neither term is negative. `error` is the largest relative error.
struct ProfileLine {
  double constant = 0, per_sample = 0, error = 0;
};
ProfileLine profile_line(const std::vector<ProfilePoint>& points);

// The cubic of LBB through the points (balancing/cost/curves.h), and the correlations of its times with the
// measured ones.
struct ProfileCubic {
  std::array<double, 4> ms{};  // low order first
  double pearson = 0, spearman = 0;
};
ProfileCubic profile_cubic(const std::vector<ProfilePoint>& points);

std::string profile_table(const Profile& profile);
std::string profile_json(const Profile& profile);  // the file for profile = "FILE" of a scenario's worker

struct ProfileCommand {
  std::string job_file;  // empty: the defaults of a job
  std::vector<std::string> overrides;
  WorkerSpec computing;     // device, threads and precision of each worker
  std::string model, data;  // empty: the job's
  std::string name;         // of this machine; empty: its host name
  unsigned workers = 0;     // 0: processors / threads, on a GPU 1
  std::uint64_t max_batch = 512;
  unsigned repeats = 9;
  std::string output;
  bool quiet = false;
};

void run_profile(const ProfileCommand& command);

}  // namespace steelyard
