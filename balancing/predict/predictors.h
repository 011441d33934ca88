// The one table of predictors.
#pragma once

#include <steelyard/predictor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/options.h"

namespace steelyard::balancing {

const PredictorTable& built_in_predictors();

// Searches the user's predictors first. Throws Failure (configuration) that lists the known names.
std::unique_ptr<Predictor> make_predictor(const std::string& name, std::uint64_t seed,
                                          const PredictorTable& own = {});

// The user's first.
std::vector<std::string> predictor_names(const PredictorTable& own = {});

}  // namespace steelyard::balancing
