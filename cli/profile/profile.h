// `steelyard profile`: how long this machine takes for batches of different sizes, with the real model, data
// and kernels: one worker alone, then all at once, who share caches, memory and processors.
//
// Sizes take turns, up and down, in every repeat, so that a machine that gets slower or warmer meanwhile does
// not bend the curve.
#pragma once

#include "cli/command_line.h"
#include "cli/run.h"

namespace steelyard {

int run_profile(const ProfileCommand& command, const Extensions& extensions);

}  // namespace steelyard
