#include "core/cores.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <string>

namespace steelyard {

std::vector<unsigned> allowed_core_numbers() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return {};
  std::vector<unsigned> cores;
  for (unsigned core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

std::vector<unsigned> in_order_of_topology(std::vector<unsigned> cores,
                                           const std::filesystem::path& topology) {
  const auto place = [&](unsigned core) {
    const auto number = [&](const char* name) {
      std::ifstream file(topology / ("cpu" + std::to_string(core)) / "topology" / name);
      long value = 0;
      return file >> value ? value : 0;
    };
    // On some machines a core's number is unique only in its die or cluster.
    return std::array{number("physical_package_id"), number("die_id"), number("cluster_id"),
                      number("core_id")};
  };
  std::ranges::stable_sort(cores, {}, place);
  return cores;
}

}  // namespace steelyard
