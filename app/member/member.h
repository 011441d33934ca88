// `steelyard member`: one of the equal tasks of an engine that starts N of them (srun, mpirun, torchrun, an
// Indexed Job). It finds out which task it is (app/member/task.h), which processes of the job it runs
// (app/member/member_plan.h) and where the tasks meet (app/member/meeting.h), and supervises its processes as
// `launch` does (app/launch/supervision.h).
//
// Engines know only to start the same command again. So a task that starts in the run directory of a job
// that has not finished continues it: the scheduler from its journal, if the servers may still have the
// model, else from the newest checkpoint. A finished job is not begun again.
//
// SIGTERM, or the exit of the parent process, ends the task: the scheduler saves a checkpoint and ends the
// job, a worker leaves it. Processes that remain near the end of the grace time are killed. SIGUSR1 at the
// scheduler's task saves a checkpoint.
//
// Exit codes: 0 finished; 75 another start may succeed, as after SIGTERM and lost connections; any other one:
// another start would fail again.
#pragma once

#include "app/member/member_plan.h"

namespace steelyard {

int run_member(const MemberOptions& options);

}  // namespace steelyard
