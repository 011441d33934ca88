// The registry of this process: models, data sets, policies and engines that a user's program adds to the
// built-in tables (steelyard/run.h).
//
// run() fills it before it reads the command line; afterwards it is constant, so any thread may read it.
// Callers that look up a name (make_policy(), open_data(), workload_of(), help) pass the table of the
// registry.
#pragma once

#include <steelyard/run.h>

namespace steelyard {

const Registry& registry();
// Replaces the whole registry. Must not be called while another thread may read it.
void set_registry(Registry rows);

}  // namespace steelyard
