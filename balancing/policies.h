// The one table of policies: every published method and every baseline that a job can ask for by name.
#pragma once

#include <steelyard/policy.h>

#include <memory>
#include <string>
#include <vector>

#include "balancing/policy_options.h"
#include "balancing/predict/predictors.h"

namespace steelyard::balancing {

// A user's predictors are for the policies that take one by name.
PolicyTable built_in_policies(const PredictorTable& own_predictors = {});

// Of a job that leaves to its policy how long rounds are: Failure (configuration) if this one does not say
// (balancing/pacing.h).
void require_pacing(const std::string& name, Policy& policy);

// The user's own first.
std::vector<std::string> policy_names(const PolicyTable& own = {});

}  // namespace steelyard::balancing
