// The one table of built-in models, by the name that a job file uses. A user's own models go in a table of
// the same kind, which make_model() asks first.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "nn/model.h"

namespace steelyard::nn {

struct ModelOptions {
  Shape input;
  std::uint32_t classes = 10;
  std::map<std::string, double> values;  // what the model's row of the table knows, e.g. "dropout"
};

using ModelTable = std::map<std::string, std::function<Model(const ModelOptions&)>>;

//  softmax  softmax regression: one linear layer
//  svm      the same under the multi-class hinge loss
//  mlp      784-512-256-10 for MNIST: two hidden layers with ReLU       [dropout = 0: behind each of them]
//  lenet5   LeCun et al. 1998, with ReLU and max pools                  [dropout = 0: behind the linear ones]
const ModelTable& built_in_models();

// Throws Failure (configuration) for a name or an option that is not known, and lists those that are.
Model make_model(const std::string& name, const ModelOptions& options, const ModelTable& extra = {});

}  // namespace steelyard::nn
