// The one table of policies: every published method and every baseline that a job can ask for by name.
//
// Each file FILE.cpp in balancing/policy has its rows in a function of its own, and that is all that the
// table needs:
//
//   PolicyTable FILE_rows(const PredictorTable&) { return {{"name", make, "one plain sentence", {options}}};
//   }
//
// CMake lists the functions (steelyard_table). A published method says whose it is at the end of its
// sentence.
#pragma once

#include <steelyard/policy.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "balancing/policy_options.h"
#include "balancing/predict/predictors.h"

namespace steelyard::balancing {

using PolicyRows = PolicyTable(const PredictorTable& own_predictors);
std::span<PolicyRows* const> policy_files();

// In the order of their names. A user's predictors are for the policies that take one by name.
PolicyTable built_in_policies(const PredictorTable& own_predictors = {});

// Of a job that leaves to its policy how long rounds are: Failure (configuration) if this one does not say
// (balancing/pacing.h).
void require_pacing(const std::string& name, Policy& policy);

// The user's own first.
std::vector<std::string> policy_names(const PolicyTable& own = {});

}  // namespace steelyard::balancing
