// Where the page of a job is, as people write it: ":7080" or "7080" is port 7080 of this machine alone,
// "10.0.0.1:7080" and "box:7080" what they say, "0.0.0.0:7080" all addresses of this machine; port 0 is any
// that is free.
#pragma once

#include <string>

#include "transport/address.h"

namespace steelyard {

inline constexpr const char* web_place_expected = ":PORT for this machine alone, or HOST:PORT";

// Throws Failure (usage), also for "*": that others may read it has to be said by an address.
HostPort web_place(const std::string& text);

// As `status` takes it, also as a browser shows it: "http://127.0.0.1:7080/". Whether it is one at all.
bool is_web_place(const std::string& text);
HostPort asked_place(const std::string& text);  // throws Failure (usage)

}  // namespace steelyard
