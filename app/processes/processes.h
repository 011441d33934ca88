// The roles as processes: each wires one machine (a server: one per shard) to a ZeroMQ link and hosts
// it.
//
// Threads: scheduler - scheduler, checkpointer, recorder, terminal, signals; server - one a shard, signals;
// worker - worker, computing, feeding, signals; standby - itself, signals; and libzmq's own two in each.
#pragma once

#include <functional>
#include <string>

#include "app/processes/process_settings.h"
#include "app/report/run_directory.h"
#include "core/buffer.h"
#include "core/device_name.h"
#include "protocol/machine.h"

namespace steelyard {

// Each returns the process's exit code. Throws Failure for what prevents it from starting.
int run_scheduler(const SchedulerOptions& options, JobFile file);
int run_standby(const StandbyOptions& options);
int run_server(const ServerOptions& options);
int run_worker(const WorkerOptions& options);

// Where a run leaves its results: the one place that chooses. Throws Failure (io) for a directory that cannot
// be.
RunDirectory choose_run_directory(const ResultOptions& options, const std::string& job_name);

// Shared by the roles.
NodeId new_node(Role role);                      // with a fresh random number
std::string default_name(const char* role);      // host and process
Memory memory_for(const std::string& exchange);  // where gradients and versions lie
void raise_descriptor_limit();
// Throws Failure (configuration) if this process may not have the descriptors that so many outward
// connections and peers take; `what` says what they are for.
void require_descriptors(const std::string& what, std::uint64_t connections, std::uint64_t peers);
// The same for a scheduler of this job; raises the limit first.
void require_descriptors_for(const Job& job);
// Why a server or worker ended, and its exit code.
struct Ending {
  int code = 0;
  std::string text{};  // for people; empty if all went well
};
Ending ending_of(const ExitReason& ending, const std::string& scheduler);
// Says it on standard error; its exit code.
int verdict(const char* role, const ExitReason& ending, const std::string& scheduler);
// Prints lines on standard error, with role and name before them; none if it is quiet.
std::function<void(const std::string&)> speaker(const char* role, const std::string& name, bool quiet);
// The device of a worker on this machine. Throws Failure (configuration) for one that is not here, or cannot
// do what the worker is told.
Device device_of(const WorkerSpec& worker);

}  // namespace steelyard
