// The address of a job's page. ":7080" and "7080" mean port 7080 for this machine alone; "10.0.0.1:7080" and
// "box:7080" the given address; "0.0.0.0:7080" all addresses of this machine. Port 0 is any free port.
#pragma once

#include <string>

#include "transport/address.h"

namespace steelyard {

inline constexpr const char* web_place_expected = ":PORT for this machine alone, or HOST:PORT";

// Parses an address to listen on. Throws Failure (usage), also for "*": access from other machines requires
// an explicit address.
HostPort web_place(const std::string& text);

// An address given to `status`, which may also be a URL: "http://127.0.0.1:7080/".
bool is_web_place(const std::string& text);     // whether the text is one
HostPort asked_place(const std::string& text);  // parses it; throws Failure (usage)

}  // namespace steelyard
