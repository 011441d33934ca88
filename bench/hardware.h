// The machine that a figure belongs to, and where its threads run.
#pragma once

#include <string>

namespace steelyard::bench {

// "AMD EPYC, 2 cores, kernels for v4, Linux 6.1"
std::string hardware();

// Keeps this thread, and those it starts from now on, on one core (counted round the machine's cores).
void pin(unsigned core);

}  // namespace steelyard::bench
