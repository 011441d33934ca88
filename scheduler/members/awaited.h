// Awaited servers: silent servers without a filled mirror. Each has the only copy of a part of the model, so
// the job waits for them.
//
// Silence does not prove that a process has exited: a stopped, starved or disconnected process may return
// with all its state. Its exit is proved if
//
//  - its connection has been closed for heartbeat_timeout: the kernel closes the connections of a process
//    that exits, and a live process reconnects within a second;
//  - the supervisor reports that some process exited, while this connection is closed;
//  - another process joins under its name (scheduler/members/admission.h).
//
// Without proof, the job stops waiting after Job::server_wait, or when a request to end the job arrives.
#pragma once

#include <string>

#include "core/time.h"
#include "protocol/job.h"
#include "scheduler/members/members.h"

namespace steelyard {

// Why the job stops waiting for a server that has been silent for heartbeat_timeout; none: it waits.
enum class EndOfWait { none, proof, time_is_up, told_to_end };

// `counts_from`: silence before this time is ignored. `told_to_end`: the job was asked to end.
[[nodiscard]] EndOfWait end_of_wait(const ShardMember& server, Time now, Time counts_from, bool told_to_end,
                                    const Job& job);

// The notes at the start of the wait, and when the server is back.
[[nodiscard]] std::string waits_for(const ShardMember& server, Time now, const Job& job);
[[nodiscard]] std::string is_back(const ShardMember& server, Time now);
// The reason for the end of the job: "server 'right' is lost, and with it its part of the model".
[[nodiscard]] std::string lost_with_its_part(const ShardMember& server, EndOfWait why);

}  // namespace steelyard
