// `steelyard eval`: loss, accuracy and other metrics of a checkpoint (app/tools/class_metrics.h, and
// app/tools/target_eval.h for models with targets), on the test set of its job, on another data set, or on a
// CSV file or folders of pictures with labels (app/tools/input_samples.h). Loss and accuracy are computed
// like a worker's evaluation, on all processors.
#pragma once

#include <string>
#include <vector>

#include "app/tools/saved_model.h"

namespace steelyard {

struct EvalCommand {
  SavedOptions saved;
  std::vector<std::string> inputs;  // none: the test set
  bool normalized = false;          // the values of `inputs` are inputs of the model already
  std::string json;                 // a file for the same facts, or - for standard output; empty: none
};

void run_eval(const EvalCommand& command);

}  // namespace steelyard
