// The registry of this process: what a user's program adds to the built-in tables (steelyard/run.h).
//
// run() fills it before it reads the command line; afterwards it is constant, so any thread may read it. What
// looks up a name (make_policy(), open_data(), workload_of(), help) passes the table of the registry.
#pragma once

#include <steelyard/run.h>

namespace steelyard {

const Registry& registry();
// Replaces all of it. Not while another thread may read it.
void set_registry(Registry rows);

}  // namespace steelyard
