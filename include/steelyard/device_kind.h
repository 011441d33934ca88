// Kinds of devices, and the precision of their matrix products.
#pragma once

#include <cstdint>

namespace steelyard {

// Policies may treat them differently: lb-bsp predicts the speed of CPUs, and searches for the share of GPUs.
enum class DeviceKind : std::uint8_t { cpu, gpu };

// The precision of the factors in matrix products and convolutions. Sums, parameters and messages always use
// float32.
//
// bf16: bfloat16, a float32 without its last 16 bits (8 significant bits). Activations and their gradients
// are also stored in it. A worker on a CPU that lacks it (cpu_has_bf16) is rejected; a network computes in
// float32 there.
// tf32: TensorFloat-32, the exponent range of a float32 with 11 significant bits, on the tensor cores of CUDA
// devices. CPUs have no tf32; a CPU worker that requests it is rejected.
enum class Precision : std::uint8_t { float32, bf16, tf32 };

}  // namespace steelyard
