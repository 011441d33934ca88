// What each kind of process can be started with, as keys: the options of its command line, and for a worker
// what its description and its environment can say. A key is declared here, or in app/config/worker_keys.cpp,
// and nowhere else; app/launch/process_options.h and bindings/c/description.h read what the keys say.
//
// The options must outlive their keys, and stay in their place.
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
// Those of `train`, `run` and `launch`; `where` stands before the help of each path.
std::vector<Key> result_keys(ResultOptions& options, const std::string& where);
Key exchange_key(std::string& exchange);
// Of those of a worker the ones that say what computes, and how: device, threads and precision.
std::vector<Key> computing_keys(WorkerSpec& spec);

}  // namespace steelyard
