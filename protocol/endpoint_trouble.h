// Whether an endpoint that a node tells of itself can be connected to, as far as its text says.
#pragma once

#include <string>

namespace steelyard {

// Empty, or what is wrong with it, as half a sentence. Endpoints of other transports than TCP are taken as
// they are; whether it answers is seen later.
std::string endpoint_trouble(const std::string& endpoint);

}  // namespace steelyard
