// A scenario under many policies and sync modes, in virtual time.
#pragma once

#include "app/report/compare/compared_runs.h"
#include "sim/scenario.h"

namespace steelyard {

// How a contender of this scenario is run, and which device is best alone. Repeat r is simulated with seed
// comparison.seed + r, so that all contenders meet the same draws in it. `scenario` is copied.
Contest scenario_contest(const sim::Scenario& scenario, std::uint64_t seed);

}  // namespace steelyard
