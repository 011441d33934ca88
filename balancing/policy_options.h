// Options of policies that are lists: texts in a job file, numbers and curves here.
//
// Both are empty where the job does not name the option, and throw Failure (configuration) that names option,
// value and remedy where it does not fit.
#pragma once

#include <steelyard/policy.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "balancing/cost/curves.h"

namespace steelyard::balancing {

// A number of rounds, or of what else is counted from 1 on.
Option rounds_option(const char* name, std::optional<std::uint64_t> otherwise, const char* help);

// Positive numbers by slot: "100 80 40 20".
std::vector<double> numbers_option(const Options& options, const std::string& key);

// Polynomials of the time in ms over the share, low order first: "half: 5.9 0.59; slow: 8.3 0.6 0 1e-7", or
// by slot "5.9 0.59; 8.3 0.6 0 1e-7".
Profile curves_option(const Options& options, const std::string& key);

}  // namespace steelyard::balancing
