// The roles as processes: each connects a state machine (a server: one per shard) to a ZeroMQ link and hosts
// it.
//
// Threads: scheduler - scheduler, checkpointer, recorder, journal, terminal, signals; server - one per shard,
// signals; worker - worker, computing, feeding, signals; standby - standby, signals; and libzmq's two in
// each.
#pragma once

#include <functional>
#include <string>

#include "app/processes/process_settings.h"
#include "app/report/run_directory.h"
#include "core/buffer.h"
#include "core/device_name.h"
#include "protocol/machine.h"
#include "worker/compute/workload.h"

namespace steelyard {

// Each returns the process's exit code. Throws Failure if it cannot start.
int run_scheduler(const SchedulerOptions& options, JobFile file);
int run_standby(const StandbyOptions& options);
int run_server(const ServerOptions& options);
int run_worker(const WorkerOptions& options);

// The only function that chooses the run directory. Throws Failure (io) if it cannot be used.
RunDirectory choose_run_directory(const ResultOptions& options, const std::string& job_name);

// Shared by the roles.
NodeId new_node(Role role);                      // with a fresh random number
std::string default_name(const char* role);      // host and process
Memory memory_for(const std::string& exchange);  // for gradients and versions
void raise_descriptor_limit();
// Throws Failure (configuration) if the limit of descriptors is too low for this many outgoing connections
// and peers; `what` names their purpose in the message.
void require_descriptors(const std::string& what, std::uint64_t connections, std::uint64_t peers);
// The same for a scheduler of this job; raises the limit first.
void require_descriptors_for(const Job& job);
// The first message of a server or worker: where it looks for the scheduler, for how long, and which of the
// hosts cannot be looked up.
std::string looking_for(const std::string& scheduler, double wait);
// Why a server or worker ended, and its exit code.
struct Ending {
  int code = 0;
  std::string text{};  // message for users; empty on success
};
Ending ending_of(const ExitReason& ending, const std::string& scheduler);
// Prints the message on standard error and returns the exit code.
int verdict(const char* role, const ExitReason& ending, const std::string& scheduler);
// Returns a function that prints lines on standard error, with role and name before them; nothing if quiet.
std::function<void(const std::string&)> speaker(const char* role, const std::string& name, bool quiet);
// The device of a worker on this machine. Throws Failure (configuration) if it is missing or does not support
// the worker's settings.
Device device_of(const WorkerSpec& worker);
// What a worker with these options computes on: the job's data and model, with its own data options. Throws
// Failure as workload_of(), (usage) for an option that is not KEY=VALUE.
Workload workload_of(const WorkerOptions& options, const Job& job, const Device& device);

}  // namespace steelyard
