// How one worker is started: in a job file and a hosts file, on a command line, in the description of
// steelyard_join(), and by the environment of a script.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/schema.h"

namespace steelyard {

struct WorkerSpec {
  std::string name;                      // default: worker-0, worker-1, ...
  std::string simulate_slowdown = "1";   // worker/compute/throttle.h
  std::string simulate_cpu_share = "1";  // likewise
  std::string device = "cpu";            // or a GPU (core/device_name.h)
  std::uint64_t max_batch = 0;           // positions that fit its memory in one piece; 0: no limit
  std::string threads = "1";             // that compute (worker/compute/thread_count.h)
  bool background = false;               // computes on what others leave (worker/compute/polite.h)
  std::string precision = "float32";     // of factors of products (core/device_name.h)
};

// `worker` must outlive the keys, and stay in its place.
std::vector<Key> worker_keys(WorkerSpec& worker);

}  // namespace steelyard
