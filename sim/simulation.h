// Simulates a scenario: under its policy, under the oracle, and with one device alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "sim/scenario_result.h"
#include "sim/scenario_run.h"

namespace steelyard::sim {

// The profile of an undisturbed cluster: curves by name, in ms, in the format of the policies' options.
std::string profile_of(const Scenario& scenario);

// All policy names that a scenario may use: those of a job, the user's first, and "oracle".
std::vector<std::string> simulated_policies(const balancing::PolicyTable& own = {});

// Runs it under scenario.policy. All functions here throw Failure (configuration) as check_scenario() does,
// or for an unknown policy or option, and (failed) if the job cannot end.
//
// `static` without options gets the curves of the scenario without events. `ideal_s` is the result of
// ideal_seconds(), which is called if it is not given.
Result simulate(const Scenario& scenario, std::optional<double> ideal_s = {});

// Seconds that the oracle takes with the same random numbers, under bsp: one reference for all sync modes. A
// mode that exchanges less, or does not wait, may be faster.
double ideal_seconds(const Scenario& scenario);

// The worker that would finish the whole job first if it were alone, exchange included, among those present
// all the time; std::nullopt if none is. Compares true times; the draws matter little here.
std::optional<std::size_t> best_single_device(const Scenario& scenario);
double alone_seconds(const Scenario& scenario, std::size_t worker);

}  // namespace steelyard::sim
