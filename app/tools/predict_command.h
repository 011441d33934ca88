// `steelyard predict`: the class of each sample and its probability, from a checkpoint. The samples are those
// of an npy file or an array of an npz, or of the job's test set.
//
// One line a sample, with a heading: sample,class,probability; with the test set the label too. The
// probability is that of softmax over the scores. Samples of a file are [sample][row][column][channel] or
// [sample][feature]: floats as the model takes them, or bytes, which become (byte / 255 - mean) / deviation
// as the training samples did. For a file the job's own data are not opened, unless the checkpoint is of a
// release that did not write down what samples its model takes.
#pragma once

#include <string>

#include "app/tools/saved_model.h"

namespace steelyard {

// `steelyard eval`: loss and accuracy of a checkpoint over the test set of its job, or of another data set.
// Computed as a worker does in an evaluation, on all processors.
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
