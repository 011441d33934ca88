// The one table of policies: every published method and every baseline that a job can ask for by name.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "balancing/policy.h"
#include "balancing/policy_options.h"

namespace steelyard::balancing {

// Throws Failure (configuration) for an unknown name, an unknown option or a value out of range; the message
// lists what is known.
std::unique_ptr<Policy> make_policy(const std::string& name, const PolicyOptions& options = {});

std::vector<std::string> policy_names();

}  // namespace steelyard::balancing
