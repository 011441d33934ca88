// A whole cluster in this process: the real state machines with real computation, each on its own thread,
// over the local transport or ZeroMQ.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/model.h>
#include <steelyard/policy.h>

#include <memory>
#include <string>
#include <vector>

#include "core/device_name.h"
#include "protocol/job.h"
#include "protocol/optional_messages.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard::test {

enum class Transport { local, tcp, ipc, shared };  // shared: ipc, with values in shared memory
const char* name(Transport transport);
// All transports; only the local one under ThreadSanitizer, which reports false races in the uninstrumented
// libzmq.
std::vector<Transport> transports();

// Random shares, seeded: the worst possible policy.
std::unique_ptr<balancing::Policy> random_policy(std::uint64_t seed);

struct ClusterResult {
  Stop stop;
  std::vector<Snapshot> stored;  // all checkpoints, oldest first; the last is the final state
  double accuracy = -1;          // of the last evaluation
  std::vector<std::string> notes;
  std::vector<RoundRecord> rounds;  // of training
};

struct ClusterOptions {
  Transport transport = Transport::local;
  Snapshot initial;                 // initial parameters and progress
  std::vector<std::string> slow{};  // slowdown by worker; default 1
  std::uint64_t policy_seed = 0;    // 0: the job's own policy
  std::vector<Device> devices{};    // by worker; workers beyond the end use the CPU
};

// The initial parameters of a new training. Also sets the job's layout.
Snapshot fresh(Job& job, const nn::Model& model, const DataSets& data);

ClusterResult run_cluster(const Job& job, const nn::Model& model, const DataSets& data,
                          ClusterOptions options);

// Trains in one loop on one thread: parameters and optimizer state after `rounds` more rounds. `shares`: the
// sizes of the micro-batches of every round; empty: 32.
Snapshot plain_loop(const Job& job, const nn::Model& model, const DataSets& data, const Snapshot& from,
                    std::uint64_t rounds, const std::vector<std::uint32_t>& shares = {});

}  // namespace steelyard::test
