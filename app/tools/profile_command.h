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

int run_profile(const ProfileCommand& command);

}  // namespace steelyard
