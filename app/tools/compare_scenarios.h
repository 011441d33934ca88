// Compares a scenario under several policies and sync modes, in virtual time.
#pragma once

#include "app/report/compare/compared_runs.h"
#include "sim/scenario.h"

namespace steelyard {

// Runs contenders of this scenario, and finds the best device alone. Repeat r is simulated with seed `seed` +
// r, so that all contenders get the same random draws. `scenario` is copied.
Contest scenario_contest(const sim::Scenario& scenario, std::uint64_t seed);

}  // namespace steelyard
