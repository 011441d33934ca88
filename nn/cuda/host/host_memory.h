// The memory that the host executor's device can reach. All of it is memory of this process; as on a device,
// only part of that is device memory, pinned or registered.
#pragma once

#include <cstdint>

namespace steelyard::nn::cuda::host {

// Ends the process, with a message, if the device cannot read all of `from` or write all of `to` now.
void check_copy(const void* to, const void* from, std::uint64_t bytes);

}  // namespace steelyard::nn::cuda::host
