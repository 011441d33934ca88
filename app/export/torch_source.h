// A model as a Python file that defines it as a module of PyTorch, for a state_dict file of torch_state.h.
#pragma once

#include <string>

#include "app/export/exported_model.h"

namespace steelyard {

// Class `Model`: its tensors have the names of the checkpoint, its inputs are those of the ONNX file
// (onnx.h), and its result are the scores. Runs with PyTorch 1.13 and later.
std::string torch_source(const ExportedModel& exported);

}  // namespace steelyard
