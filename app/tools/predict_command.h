// `steelyard predict`: predicts the class of each sample and its probability, from a checkpoint. The samples
// come from an npy file, an array of an npz, or the job's test set.
//
// Output: a header and one line per sample: sample,class,probability; with the test set the label too. The
// probability is the softmax of the scores. Samples of a file are [sample][row][column][channel] or
// [sample][feature]: floats are used as inputs, and bytes become (byte / 255 - mean) / deviation, as in
// training. With a file the job's own data are not opened, unless the checkpoint comes from an older release
// and does not record the shape of its samples.
#pragma once

#include <string>

#include "app/tools/saved_model.h"

namespace steelyard {

// `steelyard eval`: loss and accuracy of a checkpoint on the test set of its job, or of another data set.
// Computed like a worker's evaluation, on all processors.
struct EvalCommand {
  SavedOptions saved;
};

void run_eval(const EvalCommand& command);

struct PredictCommand {
  SavedOptions saved;
  std::string input;         // an npy file, or archive.npz:array; empty: the job's test set
  std::string output = "-";  // a file, or - for standard output
};

void run_predict(const PredictCommand& command);

}  // namespace steelyard
