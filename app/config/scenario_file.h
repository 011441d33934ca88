// The scenario file: TOML in, a scenario out. The keys are a contract (docs/simulation.md); keys may be
// added, not changed. `steelyard help scenario` lists them; their table is app/config/scenario_keys.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario.h"

namespace steelyard {

// Reads a file; the scenario is called as the file is, without its ending. Files that it names lie beside it.
// `overrides` are key=value, as --set gives them, with "worker.NAME.key" for a worker. Throws Failure
// (configuration) that names file, line and column, what is there and what may be there.
sim::Scenario read_scenario(const std::string& path, const std::vector<std::string>& overrides = {});
// The same for a text; `file` is what messages call it.
sim::Scenario parse_scenario(std::string_view text, const std::string& file,
                             const std::vector<std::string>& overrides = {});

}  // namespace steelyard
