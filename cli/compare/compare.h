// `steelyard compare`: jobs and scenarios under many policies and sync modes, with the same data, seeds and
// stop rule, as a table for people, as JSON and as a page with a picture.
#pragma once

#include <string_view>

#include "cli/command_line.h"
#include "cli/run.h"

namespace steelyard {

// The process's exit code: 0, 1 if a run failed, 75 if it was interrupted. Throws Failure for what cannot be
// read or compared at all.
int run_compare(const CompareCommand& command, const Extensions& extensions);

// What a file describes: the keys tell. A scenario says how long things take ([network], [[event]], a
// worker's time_ms and the like); a job says what is trained by which cluster. Throws Failure (configuration)
// if it is neither, or both.
enum class FileKind { job, scenario };
FileKind kind_of(std::string_view text, const std::string& file);

}  // namespace steelyard
