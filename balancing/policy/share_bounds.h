// From a request to the bounds that its plan has to respect.
//
// The first step of every policy, so that all of them treat short rounds and tight limits alike.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "balancing/allocate/bounds.h"
#include "balancing/policy.h"

namespace steelyard::balancing {

// fitted() bounds of the workers, in their order. Throws Failure (configuration) if they
// cannot take the round.
std::vector<Bound> share_bounds(const Request& request);

// The same where the workers in the slots of `resting` get nothing, as far as they may rest. If the others
// cannot take the round without them, no worker rests.
std::vector<Bound> share_bounds(const Request& request, const std::set<std::uint32_t>& resting);

// The same, where workers that may rest may also be given nothing: the exact allocator then leaves out
// workers that would only delay the round.
std::vector<Bound> with_rest(const Request& request, std::vector<Bound> bounds);

[[nodiscard]] bool may_rest(const WorkerView& worker);

}  // namespace steelyard::balancing
