// Time of work on the device, measured with its own clock.
//
// The work is captured as a graph, as in networks, so that the host's calls are not measured; work that
// cannot be captured is measured with them. Before each reading a buffer larger than the caches of any GPU is
// overwritten, so that the work reads from memory.
#pragma once

#include <functional>

#include "nn/cuda/runtime.h"

namespace steelyard::bench {

// Whether there is a device to measure. On the host executor everything runs once, as a check, and times are
// meaningless.
bool measures();

// The median of 21 readings, in seconds. `add` adds the work to the stream; it is called twice, or for every
// reading if a capture refuses it.
double median_seconds(nn::cuda::Stream& stream, const std::function<void()>& add);

}  // namespace steelyard::bench
