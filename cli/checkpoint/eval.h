// `steelyard eval`: loss and accuracy of a checkpoint over the test set of its job, or of another data set.
// Computed as a worker does in an evaluation, on all processors.
#pragma once

#include "cli/command_line.h"
#include "cli/run.h"

namespace steelyard {

int run_eval(const EvalCommand& command, const Extensions& extensions);

}  // namespace steelyard
