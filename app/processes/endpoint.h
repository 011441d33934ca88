// Endpoints as people write them: "box:7070", "127.0.0.1:7070", "[::1]:7070", "tcp://box:7070",
// "ipc:///path". Host names may stand wherever addresses may (transport/address.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "protocol/job.h"
#include "transport/security/trust.h"

namespace steelyard {

// The keys of a process, from where its options say they are.

// From then on no core file has this process's memory in it, and unless it lends some to others
// (transport/shared_memory/shared_memory_transfer.h), they cannot look into it either.
void keep_memory_closed(bool lends);

// Null where `keys` is empty: plain text. Otherwise memory is kept closed, too. Says whom it refuses on
// standard error. Throws Failure, as load_keys().
std::unique_ptr<Trust> trust_for(const std::string& keys, KeyRole role, const std::string& name, bool lends);

// Memory that there is not, told to people.

// Runs a part of `role` ("a scheduler"); memory that there is not becomes a Failure (failed) that says how
// large the model is.
void memory_check(const std::string& role, const Job& job, const std::function<void()>& work);

// Bytes of memory that this machine has.
std::uint64_t memory_of_machine();

// One to connect to, with "tcp://" before it where nothing else is. Throws Failure (usage) for what cannot be
// an endpoint, and for a port that cannot be.
std::string complete_endpoint(const std::string& text);
// Of a scheduler and its standby, with a comma between them: each completed.
std::string scheduler_places(const std::string& text);

// One to listen on: a name, also that of a network interface, becomes the address that it has here, and the
// port may be * for any that is free. Throws Failure (usage) likewise, (configuration) for a name that has no
// address here.
std::string listening_endpoint(const std::string& text);

// A plain-text port that others can reach has to be asked for by name: `allowed` is whether it was, or keys
// are used. Throws Failure (configuration).
void require_loopback(const std::string& endpoint, bool allowed);

// What a process of this machine connects to.
std::string own_endpoint(const std::string& bound);

// What others should connect to: `bound` with its host replaced by `advertise`, or, where it is bound to all
// addresses, by the address from which this machine reaches `peer`. Throws Failure (usage) for an `advertise`
// that is no host, (configuration) where none can be found out.
std::string reachable_endpoint(const std::string& bound, const std::string& advertise,
                               const std::string& peer);

}  // namespace steelyard
