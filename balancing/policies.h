// The one table of policies: every published method and every baseline that a job can select by name.
//
// Each file FILE.cpp in balancing/policy has its rows in a function:
//
//   PolicyTable FILE_rows(const PredictorTable&) {
//     return {{"name", make, "one plain sentence", {options}}};
//   }
//
// CMake collects the functions (steelyard_table); no list or declaration is needed. The sentence of a
// published method ends with its source. Built-in policies derive from Saved (balancing/state.h).
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "balancing/cost/curves.h"
#include "balancing/predict/predictors.h"

namespace steelyard::balancing {

using PolicyRows = PolicyTable(const PredictorTable& own_predictors);
std::span<PolicyRows* const> policy_files();

// Sorted by name. A user's predictors are for policies that select one by name.
PolicyTable built_in_policies(const PredictorTable& own_predictors = {});

// For a job that leaves the length of rounds to its policy: throws Failure (configuration) if this one cannot
// decide it (balancing/pacing.h).
void require_pacing(const std::string& name, Policy& policy);

// The user's first.
std::vector<std::string> policy_names(const PolicyTable& own = {});

// An option that is a number of rounds, or of another thing counted from 1.
Option rounds_option(const char* name, std::optional<std::uint64_t> otherwise, const char* help);

// Policy options that are lists: text in a job file, numbers and curves here. Empty if the job does not set
// the option. Invalid text throws Failure (configuration) that names option, value and remedy.

// Positive numbers by slot: "100 80 40 20".
std::vector<double> numbers_option(const Options& options, const std::string& key);

// Polynomials of the time in ms over the share, low order first: "half: 5.9 0.59; slow: 8.3 0.6 0 1e-7", or
// by slot "5.9 0.59; 8.3 0.6 0 1e-7".
Profile curves_option(const Options& options, const std::string& key);
// The same of a text that is not an option; at least one. Messages name `key`.
std::vector<Profile::Line> curves_in(const std::string& text, const std::string& key);

}  // namespace steelyard::balancing
