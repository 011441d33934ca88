// Processor time of a server's thread for a model of `floats` values, measured for about `duration`.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace steelyard::bench {

// Seconds to add a push of the whole model to the sum of a round.
double push_seconds(std::uint64_t floats, Duration duration);
// Seconds of one step with momentum, beyond the additions.
double update_seconds(std::uint64_t floats, Duration duration);
// For comparison: seconds to copy the same values.
double copy_seconds(std::uint64_t floats, Duration duration);

// Seconds of a round with momentum that sums pushes of the whole model from two workers. A push is written to
// memory before it is handled, slice by slice, as a transport does; that time does not count.
double pair_seconds(std::uint64_t floats, Duration duration);
// The same round as a sweep over memory for each of its parts: checks of both pushes, sum, step and version.
double separate_seconds(std::uint64_t floats, Duration duration);
// The same arrays, each read or written once, without checks: the limit of the memory.
double single_sweep_seconds(std::uint64_t floats, Duration duration);

}  // namespace steelyard::bench
