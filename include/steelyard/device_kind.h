// Kinds of devices, and the precisions in which they multiply.
#pragma once

#include <cstdint>

namespace steelyard {

// What kind of device computes: policies treat them differently (CPUs are predicted, GPUs are searched).
enum class DeviceKind : std::uint8_t { cpu, gpu };

// In what the factors of matrix products and convolutions are multiplied. Sums, and all that is kept or sent,
// are float32 in any case.
//
// bf16: bfloat16, a float32 without its last 16 bits, so numbers of 8 significant bits. Where a processor
// cannot multiply it (cpu_has_bf16), and in kernels that have no form for it, float32.
// tf32: TensorFloat-32, the range of a float32 with 11 significant bits, which tensor cores of CUDA devices
// multiply. No processor does: a worker that computes on one is refused it.
enum class Precision : std::uint8_t { float32, bf16, tf32 };

}  // namespace steelyard
