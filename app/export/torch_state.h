// A model's parameters as a state_dict file of PyTorch, which torch.load(FILE, weights_only=True) reads.
#pragma once

#include <string>

#include "app/export/exported_model.h"

namespace steelyard {

// The file: names, shapes and order of elements are those of the checkpoint. Throws Failure (configuration)
// if it would exceed 4 GiB, the limit of the format.
std::string torch_state_file(const ExportedModel& exported);

}  // namespace steelyard
