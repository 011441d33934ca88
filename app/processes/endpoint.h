// Endpoints as users write them: "box:7070", "127.0.0.1:7070", "[::1]:7070", "tcp://box:7070",
// "ipc:///path". Host names are allowed wherever addresses are (transport/address.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "protocol/job.h"
#include "transport/security/trust.h"

namespace steelyard {

// Keys of a process.

// After this call, no core file contains this process's memory. Unless it lends memory to other processes
// (transport/shared_memory/shared_memory_transfer.h), they cannot read it either.
void keep_memory_closed(bool lends);

// Null (plain text) if `keys` is empty. Otherwise loads the keys and calls keep_memory_closed(). The result
// logs refused peers on standard error. Throws Failure, as load_keys().
std::unique_ptr<Trust> trust_for(const std::string& keys, KeyRole role, const std::string& name, bool lends);

// Runs `work` for `role` ("a scheduler"). If memory runs out, throws Failure (failed) with the size of the
// model.
void memory_check(const std::string& role, const Job& job, const std::function<void()>& work);

// Bytes of memory of this machine.
std::uint64_t memory_of_machine();

// An endpoint to connect to; "tcp://" is added if no scheme is given. Throws Failure (usage) if it is not a
// valid endpoint or port.
std::string complete_endpoint(const std::string& text);
// Completes the endpoints of a scheduler and its standbys, separated by commas.
std::string scheduler_places(const std::string& text);

// An endpoint to listen on: a host or interface name becomes its address on this machine, and the port may be
// * for any free port. Throws Failure (usage) likewise, (configuration) for a name without an address here.
std::string listening_endpoint(const std::string& text);

// Throws Failure (configuration) if other machines can reach this plain-text endpoint and the user has not
// requested that. `allowed`: it was requested, or keys are used.
void require_loopback(const std::string& endpoint, bool allowed);

// The endpoint at which processes of this machine reach `bound`.
std::string own_endpoint(const std::string& bound);

// The endpoint to announce to other machines: `bound` with its host replaced by `advertise` or, if it is
// bound to all addresses, by the address from which this machine reaches `peer`. Throws Failure (usage) if
// `advertise` is not a host, (configuration) if no address can be found.
std::string reachable_endpoint(const std::string& bound, const std::string& advertise,
                               const std::string& peer);

}  // namespace steelyard
