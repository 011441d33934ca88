// `steelyard export`: writes a trained model as an ONNX file, as a state_dict file of PyTorch, or as Python
// code that defines it for PyTorch (app/export). The ending of the file decides.
#pragma once

#include <string>
#include <vector>

#include "app/tools/saved_model.h"

namespace steelyard {

struct ExportCommand {
  SavedOptions saved;
  std::vector<std::string> files;  // FILE.onnx, FILE.pt or FILE.py
};

void run_export(const ExportCommand& command);

}  // namespace steelyard
