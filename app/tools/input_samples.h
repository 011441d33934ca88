// Samples of files as inputs of a saved model: an array of NumPy (npy, npz), a CSV file, or pictures (PNG,
// JPEG) and folders of them.
//
// Values are raw, as in the files that the model was trained on, and are normalised as in training;
// `normalized`: they are inputs of the model already. Raw pixels are integers from 0 to 255 or floats from
// 0 to 1.
//
// A CSV file is read by the [data] options of a job of CSV files, with or without the label column. For
// other jobs its columns are the inputs of the model (pixels from 0 to 255), and perhaps a label, or the
// targets, as the last ones.
//
// Pictures are read by the [data] options of a job of pictures, and for other jobs of pictures at the size of
// their samples. A subfolder is the label of its pictures if one of them is a class of the training.
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/model.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocol/job.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard {

struct InputSamples {
  std::shared_ptr<const DataSet> data{};  // all labels are 0
  std::vector<std::uint64_t> numbers{};   // of each sample in the file; empty: 0, 1, ...
  std::vector<std::string> labels{};      // of each sample; empty: the file has none
  // Instead of labels, for a model with targets: a row for each sample, in the file's units; NaN: not given.
  std::vector<float> targets{};
  std::vector<std::string> notes{};  // for the user
};

// Throws Failure: (io) for files that cannot be read, (configuration) if they do not fit the model.
// `paths`: one file; or any number of pictures and folders.
InputSamples open_input(const std::vector<std::string>& paths, bool normalized, const Job& job,
                        const SampleSource& source, const nn::Model& model);

}  // namespace steelyard
