// `steelyard eval`: loss and accuracy of a checkpoint over the test set of its job, or of another data set.
// Computed as a worker does in an evaluation, on all processors.
#pragma once

#include "app/config/extensions.h"
#include "app/tools/saved_model.h"

namespace steelyard {

struct EvalCommand {
  SavedOptions saved;
};

int run_eval(const EvalCommand& command, const Extensions& extensions);

}  // namespace steelyard
