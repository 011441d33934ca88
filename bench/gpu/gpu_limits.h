// What ops are compared with, measured in the same run by the same clock: how fast the device copies its
// memory, and how fast cuBLASLt multiplies large square matrices.
#pragma once

#include "core/device_name.h"

namespace steelyard::bench {

double copied_bytes_per_second();               // read and written
double multiplied_flops_per_second(Precision);  // additions and multiplications

}  // namespace steelyard::bench
