// A model as an ONNX file.
#pragma once

#include <string>

#include "app/export/exported_model.h"

namespace steelyard {

// The file. Input `input` has raw values, as in the data set (pictures of bytes: byte / 255), in the usual
// order of ONNX: [samples][channel][row][column], [samples][feature], or [samples][token]; the first nodes
// normalise it as in training. Outputs are `scores` and `probabilities`, their softmax. The metadata have the
// names of the classes, if known, and mean and deviation. Dropout is left out. Throws Failure (configuration)
// if the model is too large.
std::string onnx_file(const ExportedModel& exported);

}  // namespace steelyard
