// Keys for the processes of one run: made by who launches it, brought to each host over the connection to it,
// never written to a disk anywhere, and worth nothing once the run is over.
#pragma once

#include "app/launch/launch_plan.h"

namespace steelyard {

// A key pair for each process, and with it the public keys of those that it has to know. From then on this
// process's memory is closed to core files and to others.
void give_keys(LaunchPlan& plan);

// Options and descriptor with which a process finds its keys: as an argument of ours, in the environment of a
// user's program.
std::string place_of_keys(int descriptor);

}  // namespace steelyard
