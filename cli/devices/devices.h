// `steelyard devices`: what workers can compute on here, and how fast each is.
#pragma once

#include "cli/command_line.h"

namespace steelyard {

int run_devices(const DevicesCommand& command);

}  // namespace steelyard
