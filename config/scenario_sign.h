// What tells a scenario from a job: both are TOML files with a [job] and [[worker]]s in them.
#pragma once

#include <string>

namespace steelyard {

class JobSource;

// The first thing in it that only scenarios have, as a person would write it: "[network]", "time_ms in
// [[worker]]". Empty if there is none.
std::string scenario_sign(const JobSource& source);

}  // namespace steelyard
