// The job file: what a person writes to say what is trained, how, and on which machines. TOML in, settings
// out.
//
// What every process must agree on becomes the Job; how each worker is started stays here. `steelyard help
// job` lists all keys; the table behind it, app/config/job_keys.cpp, is the only place that knows them.
// Models, data sets and policies, built in or a user's own, declare the options that they have, and these are
// checked here as any key is, so that a mistake has its place (app/config/choices.h).
//
// The schedule of the learning rate needs the length of the training. Given in epochs, that is it; given in
// rounds, it follows once the number of samples is known (set_samples); where only a time limit is given,
// nothing but a constant rate without warm-up has a meaning, and the rest is refused. Where nothing is said
// about the end, training takes ten epochs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/worker_keys.h"
#include "protocol/job.h"

namespace steelyard {

struct JobFile {
  Job job;                    // without layout and numbers of samples
  std::uint32_t servers = 2;  // job.shards = servers * shards per server
  std::vector<WorkerSpec> worker_specs;
  std::vector<std::string> overrides{};  // values of --set that it was read with
  std::vector<std::string> notices{};    // what the user should know of the file: keys with a former name
  std::string resolved;  // all of it as TOML, with every default; read again it gives the same
};

// Servers and workers that are not the job file's own: those of a hosts file.
struct ClusterSpec {
  std::uint32_t servers = 0;  // with a shard each
  std::vector<WorkerSpec> workers;
};

// Reads a file. `overrides` are the values of --set, "train.lr=0.05", "policy.lb-bsp.alpha=0.2" or
// "worker.worker-1.simulate_slowdown=4"; they win over the file. `cluster`, if any, takes the place of the
// file's servers and workers. Throws Failure (configuration) that names file, line and column, what is there
// and what may be there.
JobFile read_job_file(const std::string& path, const std::vector<std::string>& overrides = {},
                      const ClusterSpec* cluster = nullptr);
// The same for a text; `name` is what messages call it.
JobFile parse_job(std::string_view text, const std::string& name,
                  const std::vector<std::string>& overrides = {}, const ClusterSpec* cluster = nullptr);

// Fills in what only the data can tell: sizes, and the length of the schedule. Throws Failure (configuration)
// for a data set that is smaller than one round.
void set_samples(Job& job, std::uint64_t train, std::uint64_t test);

// What to tell people where all workers together cannot hold a round at once, and it is computed in several
// turns; empty where they can.
std::string memory_note(const JobFile& file);
// The same where mirrors cannot be filled again once the training has begun (server/mirror/replica.h).
std::string replica_note(const Job& job);

// A resolved job with one of its workers only, as TOML.
std::string job_alone(const std::string& resolved, const std::string& worker);

}  // namespace steelyard
