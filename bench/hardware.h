// The machine of a measurement, and the placement of its threads.
#pragma once

#include <string>

namespace steelyard::bench {

// "AMD EPYC, 2 cores, kernels for v4, Linux 6.1"
std::string hardware();

// Pins this thread, and threads that it starts later, to one core (modulo the number of cores).
void pin(unsigned core);

}  // namespace steelyard::bench
