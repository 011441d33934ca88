// What only CUDA's own functions tell: two implementations, for devices and for the host executor.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace steelyard::bench {

// Names and values: the device, its driver, and the versions of libraries, compiled with and loaded.
std::vector<std::pair<std::string, std::string>> native_facts();

}  // namespace steelyard::bench
