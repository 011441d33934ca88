// The sections of steelyard_gpu_check. Each is a list of cases, which print rows (bench/gpu/rows.h) and
// throw if a result is wrong.
#pragma once

#include <vector>

#include "bench/gpu/cases.h"

namespace steelyard::bench {

// What networks rely on, one thing at a time: kernels, products, convolutions, captures, copies that a host
// sees while the stream runs, NVML.
std::vector<Case> smoke_cases();
// Speed of copies, launches and large products.
std::vector<Case> limit_cases();
// Every op against the reference, in each precision.
std::vector<Case> op_cases_on_device();
// The time of every op compared with its limit.
std::vector<Case> op_time_cases();
// The gradient of every built-in model against the processor's, in each precision.
std::vector<Case> model_cases();
// Training steps of whole networks.
std::vector<Case> step_cases();
// Whether rounds in steady state allocate or wait, and the cost of a round besides its micro-batches.
std::vector<Case> steady_cases();

}  // namespace steelyard::bench
