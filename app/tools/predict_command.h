// `steelyard predict`: predicts the class of each sample and its probability, from a checkpoint. The
// samples come from a file (app/tools/input_samples.h) or from the job's test set.
//
// Output: a header and one line per sample: sample,class,probability, and label if it is known. A sample is
// a number, or the file of a picture. Classes have their names, if the data set names them. The probability
// is the softmax of the scores.
//
// For a model with targets the columns after `sample` are the targets, by name: numbers in the units of the
// labels, or probabilities of 1 under binary cross-entropy; then NAME_label for each, if labels are known.
//
// Scores: float32 [sample][class], as the model gives them, before the softmax; [sample][label][class] if a
// sample has several labels. Those of numbers are in the units of the labels.
//
// With a file the job's own data are not opened, unless the checkpoint comes from an older release and does
// not record the shape of its samples.
#pragma once

#include <string>
#include <vector>

#include "app/tools/saved_model.h"

namespace steelyard {

struct PredictCommand {
  SavedOptions saved;
  std::vector<std::string> inputs;  // none: the job's test set
  bool normalized = false;          // the values of `inputs` are inputs of the model already
  std::string output = "-";         // a file, or - for standard output
  std::string scores;               // a file (npy) for the scores of all samples; empty: none
  std::string json;  // a file for the same facts; - for standard output, instead of the lines; empty: none
};

void run_predict(const PredictCommand& command);

}  // namespace steelyard
