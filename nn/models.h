// The one table of built-in models, by the name used in job files. A user's own models go in a table of the
// same kind, which make_model() searches first.
//
// Each file FILE.cpp in nn/models builds its models and returns their rows from a function; nothing else is
// needed (steelyard_table in cmake/steelyard_targets.cmake):
//
//   ModelTable FILE_rows() { return {{"name", make, "one plain sentence", {options}}}; }
//
// Layer names are those of torchvision and of the papers' reference code, so that their weights fit.
#pragma once

#include <steelyard/model.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/options.h"
#include "nn/layer_table.h"

namespace steelyard::nn {

using ModelRows = ModelTable();
std::span<ModelRows* const> model_files();

const ModelTable& built_in_models();  // sorted by name

struct ModelOptions {
  Shape input;
  std::uint32_t classes = 10;
  OptionTexts values{};             // from the job: [model] dropout = 0.5
  std::vector<LayerText> layers{};  // from the job: [[model.layer]]; only for model "layers"
};

// Throws Failure for an unknown name or option, an invalid value, an incomplete model, and any exception of a
// user's maker; the message names the model.
Model make_model(const std::string& name, const ModelOptions& options, const ModelTable& extra = {});

}  // namespace steelyard::nn
