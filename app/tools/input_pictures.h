// Pictures as inputs of a saved model (input_samples.h).
#pragma once

#include <steelyard/data_set.h>
#include <steelyard/model.h>

#include <string>
#include <vector>

#include "app/tools/input_samples.h"
#include "protocol/job.h"

namespace steelyard {

// Whether this is a folder, or begins like a picture.
bool holds_pictures(const std::string& path);

// All pictures of these files and folders, in their order. Throws Failure (configuration) for models of other
// samples, and (io) for files that are no pictures.
InputSamples input_pictures(const std::vector<std::string>& paths, const Normalization& by, const Job& job,
                            const SampleSource& source, const nn::Model& model);

}  // namespace steelyard
