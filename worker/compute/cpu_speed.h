// The speed of this processor (nn/device_speed.h), through the libraries that networks use.
#pragma once

#include "nn/device_speed.h"

namespace steelyard {

// Of so many threads together, each with buffers and matrices of its own. Each of the two figures takes so
// many seconds.
nn::DeviceSpeed measure_cpu(unsigned threads, double seconds_each = 0.5);

}  // namespace steelyard
