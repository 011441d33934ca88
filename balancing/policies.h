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

// In the order of their names. A user's predictors are for the policies that take one by name.
PolicyTable built_in_policies(const PredictorTable& own_predictors = {});

// Of a job that leaves to its policy how long rounds are: Failure (configuration) if this one does not say
// (balancing/pacing.h).
void require_pacing(const std::string& name, Policy& policy);

// The user's own first.
std::vector<std::string> policy_names(const PolicyTable& own = {});

// A number of rounds, or of what else is counted from 1 on.
Option rounds_option(const char* name, std::optional<std::uint64_t> otherwise, const char* help);

// Options of policies that are lists: texts in a job file, numbers and curves here. Both are empty where the
// job does not name the option, and throw Failure (configuration) that names option, value and remedy where
// it does not fit.

// Positive numbers by slot: "100 80 40 20".
std::vector<double> numbers_option(const Options& options, const std::string& key);

// Polynomials of the time in ms over the share, low order first: "half: 5.9 0.59; slow: 8.3 0.6 0 1e-7", or
// by slot "5.9 0.59; 8.3 0.6 0 1e-7".
Profile curves_option(const Options& options, const std::string& key);

}  // namespace steelyard::balancing
