// What a scheduler does that takes the place of a killed one, before it listens: it makes the scheduler anew,
// and makes sure that it leads.
#pragma once

#include "app/processes/run_journal.h"
#include "transport/zmq_context.h"

namespace steelyard {

// A record that ended two processes in a row is skipped by the third. Throws Failure as
// skip_what_ends_processes().
ToldAgain replay_killed(Killed& killed, const RunDirectory& run, Scheduler& scheduler, Recorder& recorder);

// Where a standby counted when the scheduler was killed, it may lead by now. Members that connect to a
// process which does not lead would lose the one that does, so the servers are asked before it listens.
// Throws Failure: (configuration) the standby leads, which is written down for good; (unreachable) the
// servers that know do not answer.
void require_leadership(const ToldAgain& told, const RunDirectory& run, const Scheduler& scheduler,
                        ZmqContext& context);

}  // namespace steelyard
