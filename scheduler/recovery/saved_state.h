// A scheduler as bytes: all that it knows beyond its job and where that began. What was saved makes the same
// scheduler of one that was just made of both, so that a journal need not tell what came before.
//
// Times are saved as distances from `now`, so the clock may be another machine's.
#pragma once

#include <string>
#include <string_view>

#include "scheduler/scheduler.h"

namespace steelyard {

std::string save_state(const Scheduler& scheduler, Time now);
// Throws Failure (io) where it is none of such a scheduler's, which is of no use then.
void restore_state(Scheduler& scheduler, std::string_view state, Time now);

}  // namespace steelyard
