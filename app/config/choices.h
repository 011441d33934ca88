// The models, data sets and policies that a job or a scenario chooses, and their options, before anything
// runs: also those of policies that are not chosen, so that a slip is not found out only when somebody
// chooses them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/config/extensions.h"

namespace steelyard {

// What is wrong with a section: the option to look at, or none if it is the name.
std::optional<OptionTrouble> model_trouble(const std::string& name,
                                           const std::map<std::string, double>& options,
                                           const Extensions& extensions);
std::optional<OptionTrouble> data_trouble(const std::string& name, const OptionTexts& options,
                                          const Extensions& extensions);
// `known`: the policies that the file may name.
std::optional<OptionTrouble> policy_trouble(const std::string& policy, const OptionTexts& options,
                                            const std::vector<std::string>& known,
                                            const Extensions& extensions);

}  // namespace steelyard
