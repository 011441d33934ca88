// `steelyard plan`: is it worth adding this machine? Short trials measure every worker and its line, the
// simulator tries the ways in which they could train, and one more trial tells how near it was.
#pragma once

#include "cli/command_line.h"

namespace steelyard {

int run_plan(const PlanCommand& command, const Extensions& extensions);

}  // namespace steelyard
