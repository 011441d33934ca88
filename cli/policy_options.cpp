#include "cli/policy_options.h"

#include <algorithm>

#include "balancing/policies.h"
#include "cli/near_match.h"
#include "cli/toml_text.h"
#include "core/error.h"

namespace steelyard {
namespace {

// What the policy itself says of them; nothing if they are good.
std::string complaint(const std::string& policy, const balancing::PolicyOptions& options) {
  try {
    (void)balancing::make_policy(policy, options);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return {};
}

}  // namespace

std::optional<PolicyTrouble> trouble_with(const std::string& policy, const balancing::PolicyOptions& options,
                                          const std::vector<std::string>& known) {
  if (std::ranges::find(known, policy) == known.end()) {
    return PolicyTrouble{"", "no policy is called " + steelyard::quoted(policy) + among(policy, known)};
  }
  if (options.empty()) return {};
  const std::vector<std::string> made = balancing::policy_names();
  if (std::ranges::find(made, policy) == made.end())  // the oracle, which only a simulation can make
    return PolicyTrouble{options.begin()->first, "policy " + policy + " has no options: leave them out"};
  const std::string whole = complaint(policy, options);
  if (whole.empty()) return {};
  // It complains of one at a time: the one without which it says something else.
  for (const auto& [option, value] : options) {
    balancing::PolicyOptions others = options;
    others.erase(option);
    if (complaint(policy, others) != whole) return PolicyTrouble{option, whole};
  }
  return PolicyTrouble{options.begin()->first, whole};
}

}  // namespace steelyard
