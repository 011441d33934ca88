// Time of work on the device, by its own clock.
//
// The work is captured as a graph, as networks do, so that the host's calls are not measured. Before each
// reading a buffer larger than the caches of any card is swept: what the work reads comes from memory.
#pragma once

#include <functional>

#include "nn/cuda/runtime.h"

namespace steelyard::bench {

// Whether there is a device to measure. On the host executor everything is run once, to be checked, and no
// time means anything.
bool measures();

// The median of 21 readings, in seconds. `add` adds the work to the stream; it is called twice.
double median_seconds(nn::cuda::Stream& stream, const std::function<void()>& add);

}  // namespace steelyard::bench
