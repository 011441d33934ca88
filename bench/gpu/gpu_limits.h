// The limits for ops, measured in the same run with the same clock: the rate of memory copies on the device,
// and the rate of cuBLASLt for large square matrices.
#pragma once

#include "core/device_name.h"

namespace steelyard::bench {

double copied_bytes_per_second();               // read and written
double multiplied_flops_per_second(Precision);  // additions and multiplications

}  // namespace steelyard::bench
