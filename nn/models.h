// The one table of built-in models, by the name that a job file uses. A user's own models go in a table of
// the same kind, which make_model() asks first.
//
// Each file FILE.cpp in nn/models draws its models as one would on paper and has their rows in a function of
// its own, which is all that the table needs (steelyard_table in cmake/steelyard_targets.cmake):
//
//   ModelTable FILE_rows() { return {{"name", make, "one plain sentence", {options}}}; }
//
// Names of layers are those of torchvision and of the papers' reference code, so that their weights fit.
#pragma once

#include <steelyard/model.h>

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "core/options.h"

namespace steelyard::nn {

using ModelRows = ModelTable();
std::span<ModelRows* const> model_files();

const ModelTable& built_in_models();  // in the order of their names

struct ModelOptions {
  Shape input;
  std::uint32_t classes = 10;
  std::map<std::string, double> values;  // of the job: [model] dropout = 0.5
};

// The values as options take them.
OptionTexts texts_of(const std::map<std::string, double>& values);

// Throws Failure for a name, an option or a value that there is not, for a model that is not complete, and
// for whatever a user's own throws; the message names the model.
Model make_model(const std::string& name, const ModelOptions& options, const ModelTable& extra = {});

}  // namespace steelyard::nn
