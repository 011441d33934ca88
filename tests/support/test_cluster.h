// A whole cluster in this process: the real machines with real computing, each on a thread of its own, over
// the local transport or over ZeroMQ. The same run on every host.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/model.h>
#include <steelyard/policy.h>

#include <memory>
#include <string>
#include <vector>

#include "core/device_name.h"
#include "protocol/job.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard::test {

enum class Transport { local, tcp, ipc, shared };  // shared: ipc, with values in shared memory
const char* name(Transport transport);
// All of them. ThreadSanitizer sees races in libzmq that are none, for its build is not instrumented: there
// only the local one.
std::vector<Transport> transports();

// Shares drawn at random, seeded: the worst that a policy can do.
std::unique_ptr<balancing::Policy> random_policy(std::uint64_t seed);

struct ClusterResult {
  Stop stop;
  std::vector<Snapshot> stored;  // what the checkpointer was given, oldest first; the last is the end
  double accuracy = -1;          // of the last evaluation
  std::vector<std::string> notes;
};

struct ClusterOptions {
  Transport transport = Transport::local;
  Snapshot initial;                 // parameters to begin with; progress where
  std::vector<std::string> slow{};  // by worker; empty: 1
  std::uint64_t policy_seed = 0;    // 0: the job's own policy
  std::vector<Device> devices{};    // by worker; those behind the last compute on the processor
};

// The parameters a fresh training begins with, and the job's layout filled in.
Snapshot fresh(Job& job, const nn::Model& model, const DataSets& data);

ClusterResult run_cluster(const Job& job, const nn::Model& model, const DataSets& data,
                          ClusterOptions options);

// What one loop on one thread gives: parameters and optimizer state after `rounds` more rounds.
Snapshot plain_loop(const Job& job, const nn::Model& model, const DataSets& data, const Snapshot& from,
                    std::uint64_t rounds);

}  // namespace steelyard::test
