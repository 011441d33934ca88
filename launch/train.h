// `steelyard train`: a whole cluster on this machine, each role a process of its own, supervised.
#pragma once

#include "config/extensions.h"
#include "launch/options.h"

namespace steelyard {

// The job's exit code: the scheduler's, or why the cluster could not be kept up.
int run_train(const TrainCommand& command, const Extensions& extensions);

}  // namespace steelyard
