// Replay: a run that was recorded, as a scenario of the same cluster and job, for `steelyard replay` to ask
// what would have been.
//
// Each worker takes in round k what it took there, scaled to another share along the line through all its
// rounds; the exchange takes the run's mean in each (app/config/device_files.h). A worker that came later
// comes in that round. What a run does not tell: a GPU's memory beyond max_batch, the grain of models with
// batch norm, and why a worker had no share in some rounds; so there it is taken to be as it was before.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

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
