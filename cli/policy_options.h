// The options of policies in a job or a scenario, [policy.NAME], before anything runs: also those of policies
// that are not chosen, so that a slip is not found out only when somebody chooses them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "balancing/policy_options.h"

namespace steelyard {

// What is wrong with a section: the option to look at, or none if it is the name of the policy.
struct PolicyTrouble {
  std::string option;
  std::string what;
};

// `known`: the policies that the file may name.
std::optional<PolicyTrouble> trouble_with(const std::string& policy, const balancing::PolicyOptions& options,
                                          const std::vector<std::string>& known);

}  // namespace steelyard
