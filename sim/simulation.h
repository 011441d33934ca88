// A scenario, simulated: under its policy, under the oracle, and with one device alone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "sim/scenario_result.h"
#include "sim/scenario_run.h"

namespace steelyard::sim {

// The profile that somebody would have taken before the job: curves by name, in ms, as policies' options take
// them.
std::string profile_of(const Scenario& scenario);

// Every name that a scenario may give: the policies of a job, a user's own first, and "oracle".
std::vector<std::string> simulated_policies(const balancing::PolicyTable& own = {});

// Runs it under scenario.policy. All functions here throw Failure (configuration) as check_scenario() does,
// or for a policy or option that does not exist; (failed) if the job cannot end.
//
// `static` without options knows the curves of the scenario as they are without events. `ideal_s` is what
// ideal_seconds() says, which is asked unless it is given.
Result simulate(const Scenario& scenario, std::optional<double> ideal_s = {});

// Seconds that the oracle takes on the same draws, under bsp: one yardstick whatever the scenario's sync
// mode. A mode that exchanges less, or does not wait, may be quicker than that.
double ideal_seconds(const Scenario& scenario);

// The worker that would be soonest done with all of the job alone, exchange included, among those that are
// there all the time; nothing if there is none. Judged by true times; the draws decide little there.
std::optional<std::size_t> best_single_device(const Scenario& scenario);
double alone_seconds(const Scenario& scenario, std::size_t worker);

}  // namespace steelyard::sim
