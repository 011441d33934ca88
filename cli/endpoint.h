// Endpoints as people write them: "host:7070", "tcp://host:7070", "ipc:///path".
#pragma once

#include <string>

namespace steelyard {

// With "tcp://" before it where nothing else is. Throws Failure (usage) for what cannot be an endpoint.
std::string complete_endpoint(const std::string& text);

// Whether nobody on another machine can reach it.
bool is_loopback(const std::string& endpoint);

// A plain-text port that others can reach has to be asked for by name. Throws Failure (configuration).
void require_loopback(const std::string& endpoint, bool insecure);

// What others should connect to: `bound` with its host replaced by `advertise`, or, where it is bound to all
// addresses, by the address from which this machine reaches `peer`.
std::string reachable_endpoint(const std::string& bound, const std::string& advertise,
                               const std::string& peer);

}  // namespace steelyard
