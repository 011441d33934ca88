// The job file describes model, data, training and cluster. TOML in, settings out.
//
// The settings that all processes must agree on become the Job; those that only start a worker stay here.
// `steelyard help job` lists all keys; their table is app/config/job_keys.cpp. Models, data sets and
// policies, built-in or a user's own, declare their options, which are checked like any key, so that errors
// have a line and column (app/config/choices.h).
//
// The learning rate schedule needs the length of the training in epochs. A length in rounds is converted once
// the number of samples is known (set_samples). If only a time limit is given, only a constant rate or a
// table, without warm-up, is accepted. Without any limit, training takes ten epochs.
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
  // The GPU workers are the servers: each hosts this many shards. 0: servers are processes of their own.
  std::uint32_t shards_per_worker = 0;
  std::vector<WorkerSpec> worker_specs;
  bool bind_workers = true;              // to cores of their own (app/launch/core_part.h)
  std::vector<std::string> overrides{};  // values of --set that it was read with
  std::vector<std::string> notices{};    // warnings for the user about former names of keys
  std::string resolved;  // all keys as TOML, defaults included; parse_job() reads the same job from it
};

// Servers and workers that replace those of the job file: those of a hosts file.
struct ClusterSpec {
  std::uint32_t servers = 0;  // with a shard each; 0: those of the job
  std::vector<WorkerSpec> workers;
};

// Reads a file. `overrides` are the values of --set, "train.lr=0.05", "policy.lb-bsp.alpha=0.2" or
// "worker.worker-1.simulate_slowdown=4"; they take precedence over the file. `cluster`, if any, replaces the
// file's servers and workers. Throws Failure (configuration) with file, line and column, the value found and
// the values accepted. A job without a name is named after its file.
JobFile read_job_file(const std::string& path, const std::vector<std::string>& overrides = {},
                      const ClusterSpec* cluster = nullptr);
// The same for a text; messages show `name` as its file.
JobFile parse_job(std::string_view text, const std::string& name,
                  const std::vector<std::string>& overrides = {}, const ClusterSpec* cluster = nullptr);

// Sets the numbers of samples and the length of the schedule. Throws Failure (configuration) if the data set
// is smaller than one round.
void set_samples(Job& job, std::uint64_t train, std::uint64_t test);

// A warning if the workers together cannot hold a round at once, so that it is computed in several turns;
// empty if they can.
std::string memory_note(const JobFile& file);
// A warning if lost mirrors cannot be replaced once the training has begun (server/mirror/replica.h).
std::string replica_note(const Job& job);

// A resolved job reduced to one of its workers, as TOML.
std::string job_alone(const std::string& resolved, const std::string& worker);

}  // namespace steelyard
