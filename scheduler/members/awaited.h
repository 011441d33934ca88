// Awaited servers: those that are silent and have no filled mirror, so that their memory is the only copy of
// a part of the model. The job waits for them, because no other process could take their place.
//
// Silence is no proof that a process has ended: one that is stopped, starved or cut off comes back with all
// that it has. Its end is proved by
//
// - its connection, closed for heartbeat_timeout: the system closes the connections of a process that ends,
// and a
//    process that lives connects again within a second;
//  - a message of the supervisor that some process is gone, while this connection is closed;
//  - another process under its name (scheduler/members/admission.h).
//
// The job stops waiting without proof when Job::server_wait is over, or when somebody asks the job to end.
#pragma once

#include <string>

#include "core/time.h"
#include "protocol/job.h"
#include "scheduler/members/members.h"

namespace steelyard {

// Why the job waits no longer for a server that has been silent for heartbeat_timeout.
enum class EndOfWait { none, proof, time_is_up, told_to_end };

// `counts_from`: no silence before that counts. `told_to_end`: somebody asked the job to end.
[[nodiscard]] EndOfWait end_of_wait(const ShardMember& server, Time now, Time counts_from, bool told_to_end,
                                    const Job& job);

// What people read when the waiting begins, and when it is over because the server is there.
[[nodiscard]] std::string waits_for(const ShardMember& server, Time now, const Job& job);
[[nodiscard]] std::string is_back(const ShardMember& server, Time now);
// Why the job ends: "server 'right' is lost, and with it its part of the model".
[[nodiscard]] std::string lost_with_its_part(const ShardMember& server, EndOfWait why);

}  // namespace steelyard
