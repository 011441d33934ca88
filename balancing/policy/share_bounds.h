// From a request to the bounds that its plan has to respect.
//
// The first step of every policy, so that all of them treat short rounds and tight limits alike.
#pragma once

#include <vector>

#include "balancing/allocate/bounds.h"
#include "balancing/policy.h"

namespace steelyard::balancing {

// fitted() bounds of the workers, in their order. Throws Failure (configuration) if they cannot take the
// round.
std::vector<Bound> share_bounds(const Request& request);

}  // namespace steelyard::balancing
