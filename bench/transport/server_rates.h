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

}  // namespace steelyard::bench
