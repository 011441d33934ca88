// Whether a file is a job or a scenario: both are TOML with a [job] and [[worker]]s in it, and the keys tell.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace steelyard {

class JobSource;

// A scenario says how long things take ([network], [[event]], a worker's time_ms and the like); a job says
// what is trained by which cluster. Throws Failure (configuration) if it is neither, or both.
enum class FileKind : std::uint8_t { job, scenario };
FileKind kind_of(std::string_view text, const std::string& file);

// The first thing in it that only scenarios have, as a person would write it: "[network]", "time_ms in
// [[worker]]". Empty if there is none.
std::string scenario_sign(const JobSource& source);

}  // namespace steelyard
