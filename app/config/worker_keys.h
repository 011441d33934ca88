// The keys of one worker: in a job file and a hosts file, on a command line, in the description passed to
// steelyard_join(), and in the environment of a script.
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
  std::uint64_t max_batch = 0;           // most positions that fit its memory in one piece; 0: no limit
  std::string threads = "1";             // computing threads (worker/compute/thread_count.h)
  bool background = false;               // uses only idle cores (worker/compute/polite.h)
  std::string precision = "float32";     // of the factors of products (core/device_name.h)
  bool recompute = false;                // activations, in backward (nn/recomputation.h)
};

// `worker` must outlive the keys, and must not move.
std::vector<Key> worker_keys(WorkerSpec& worker);

}  // namespace steelyard
