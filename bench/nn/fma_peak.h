// The FMA peak of one thread, an upper bound for every kernel.
#pragma once

#include <cstdint>

#include "core/processor.h"

namespace steelyard::bench {

// Multiplies and adds in independent registers, `steps` times. Adds the floating-point operations done to
// `flops` and returns what every lane must have converged to: 2.
using FmaLoop = double (*)(std::uint64_t steps, double& flops);

// clang-format off
namespace baseline { double fma_loop(std::uint64_t steps, double& flops); }
namespace v3 { double fma_loop(std::uint64_t steps, double& flops); }
namespace v4 { double fma_loop(std::uint64_t steps, double& flops); }
// clang-format on

double fma_gigaflops(double seconds);  // of CPU time, approximately; throws WrongResult

}  // namespace steelyard::bench
