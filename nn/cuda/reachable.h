// Whether the device can copy directly from or to memory of the host, so that no copy into pinned memory is
// needed. Lasting memory (core/lasting_memory.h) is registered with the device at its first use, which takes
// some milliseconds, and until it is freed.
#pragma once

#include <span>

namespace steelyard::nn::cuda {

// For the device of this thread. The caller holds the memory until its copies are done. Never for memory that
// was not announced as lasting, or that the system refuses to register.
[[nodiscard]] bool device_reads(std::span<const float> values);
[[nodiscard]] bool device_writes(std::span<float> values);

}  // namespace steelyard::nn::cuda
