// How the options of a policy are read: texts from a job file, numbers and lists here.
//
// Every reader takes the default where the job does not name the option, and throws Failure (configuration)
// that names option, value and remedy where it does not fit.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "balancing/cost/profile.h"

namespace steelyard::balancing {

using PolicyOptions = std::map<std::string, std::string>;

// A number in [low, high).
double number_option(const PolicyOptions& options, const std::string& key, double fallback, double low,
                     double high);

// A whole number of at least 1 and at most a billion.
std::uint64_t count_option(const PolicyOptions& options, const std::string& key, std::uint64_t fallback);

bool flag_option(const PolicyOptions& options, const std::string& key, bool fallback);  // true or false

// One of the words, the first by default.
std::string word_option(const PolicyOptions& options, const std::string& key,
                        const std::vector<std::string>& words);

// Positive numbers by slot: "100 80 40 20".
std::vector<double> numbers_option(const PolicyOptions& options, const std::string& key);

// Polynomials of the time in ms over the share, low order first: "half: 5.9 0.59; slow: 8.3 0.6 0 1e-7", or
// by slot "5.9 0.59; 8.3 0.6 0 1e-7".
Profile curves_option(const PolicyOptions& options, const std::string& key);

// "a, b, c", or "none".
std::string listed(const std::vector<std::string>& words);

}  // namespace steelyard::balancing
