// `steelyard attend`: what `launch` runs on each host. It starts roles as it is told on its standard input,
// passes on what they say, and ends them when that input ends: nothing outlives the launcher, whether it goes
// in good order, is killed, or its connection breaks.
//
// At the end the scheduler, if it is here, is asked to end, and the others wait for it to tell them; who is
// still there after ten seconds is asked as well, and five seconds later killed. People need not know this
// command; the words are in app/launch/pipes.h.
#pragma once

#include "app/launch/launch_plan.h"

namespace steelyard {

int run_attend(const AttendOptions& options);

}  // namespace steelyard
