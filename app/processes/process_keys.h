// The settings of each kind of process, as keys: command-line options and, for a worker, also its description
// and environment. Keys are declared only here and in app/config/worker_keys.cpp;
// app/launch/process_options.h and bindings/c/description.h read them.
//
// The options must outlive their keys and must not move.
#pragma once

#include <string>
#include <vector>

#include "app/config/schema.h"
#include "app/processes/process_settings.h"

namespace steelyard {

std::vector<Key> process_keys(SchedulerOptions& options);
std::vector<Key> process_keys(StandbyOptions& options);
std::vector<Key> process_keys(ServerOptions& options);
std::vector<Key> process_keys(WorkerOptions& options);
// The keys of `train`, `run` and `launch`; `where` is put before the help of each path.
std::vector<Key> result_keys(ResultOptions& options, const std::string& where);
Key exchange_key(std::string& exchange);
// The worker's keys device, threads and precision.
std::vector<Key> computing_keys(WorkerSpec& spec);

}  // namespace steelyard
