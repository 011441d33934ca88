#include "balancing/policies.h"

#include "core/error.h"

namespace steelyard::balancing {

PolicyTable built_in_policies(const PredictorTable& own_predictors) {
  return table_of(policy_files(), own_predictors);
}

std::unique_ptr<Policy> make_policy(const std::string& name, const PolicyOptions& options,
                                    const PolicyTable& own, const PredictorTable& own_predictors) {
  return make_choice("policy", name, options, own, built_in_policies(own_predictors));
}

void require_pacing(const std::string& name, Policy& policy) {
  if (policy.pacing() != nullptr) return;
  throw Failure(ExitCode::configuration,
                "policy \"" + name +
                    "\" does not say how long rounds are, and sync = \"orchestra\" leaves that to the "
                    "policy: choose policy = \"orchestra\", or another sync mode (diloco:H has rounds of one "
                    "length)");
}

std::vector<std::string> policy_names(const PolicyTable& own) { return names_of(own, built_in_policies()); }

}  // namespace steelyard::balancing
