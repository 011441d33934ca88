// The cores that this process may run on, and how they lie in the machine. Linux numbers every hardware
// thread; here each of them counts as a core, as for taskset and OMP_NUM_THREADS.
#pragma once

#include <filesystem>
#include <vector>

namespace steelyard {

// The numbers of the cores that the calling thread and its children may use (its affinity, which taskset and
// container managers set), ascending. Empty if the system does not report them, or may have more than 1024,
// the size of a default CPU set.
std::vector<unsigned> allowed_core_numbers();

// The same cores in the order in which they lie in the machine: those of a package together, and the
// hardware threads of a physical core beside each other. So consecutive cores share caches and memory.
// `topology` has a folder cpuN/topology for each core N; cores without one keep their order.
std::vector<unsigned> in_order_of_topology(std::vector<unsigned> cores,
                                           const std::filesystem::path& topology = "/sys/devices/system/cpu");

}  // namespace steelyard
