// The scenario file: TOML in, a scenario out. The keys are stable (docs/simulation.md): keys may be added,
// but not changed. `steelyard help scenario` lists them; their table is app/config/scenario_keys.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario.h"

namespace steelyard {

// Reads a file; the scenario is named after the file, without its extension. Paths in it are relative to it.
// `overrides` are key=value, as --set gives them, with "worker.NAME.key" for a worker. Throws Failure
// (configuration) with file, line and column, the value found and the values accepted.
sim::Scenario read_scenario(const std::string& path, const std::vector<std::string>& overrides = {});
// The same for a text; messages show `file` as its name.
sim::Scenario parse_scenario(std::string_view text, const std::string& file,
                             const std::vector<std::string>& overrides = {});

}  // namespace steelyard
