// How much memory the device of the host executor has. Tests make it small to see what running out of it
// does.
#pragma once

#include <cstdint>

namespace steelyard::nn::cuda::host {

// For all threads of this process; 0: as much as there is.
void limit_memory(std::uint64_t bytes);

[[nodiscard]] std::uint64_t free_memory();
[[nodiscard]] std::uint64_t used_memory();
void take_memory(std::uint64_t bytes);
void give_memory(std::uint64_t bytes);

}  // namespace steelyard::nn::cuda::host
