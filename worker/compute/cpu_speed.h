// Measures the speed of this processor (nn/device_speed.h) with the libraries that networks use.
#pragma once

#include "nn/device_speed.h"

namespace steelyard {

// The speed of this many threads together, each with separate buffers and matrices. Measuring takes
// `seconds_each` for each of the two figures.
nn::DeviceSpeed measure_cpu(unsigned threads, double seconds_each = 0.5);

}  // namespace steelyard
