// What Slurm or Kubernetes is asked for: the machines behind one [[host]] of a hosts file that `steelyard
// render` reads. `steelyard launch` ignores these keys, since it is given the machines.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "app/config/schema.h"

namespace steelyard {

struct MachineRequest {
  std::uint32_t count = 1;    // equal machines
  std::uint32_t cpus = 0;     // of each; 0: not requested
  std::string memory;         // of each, as in "8Gi"; empty: not requested
  std::uint32_t gpus = 0;     // of each
  std::string partition;      // of Slurm; empty: its default
  std::string image;          // of the container; empty: that of this release
  std::string node_selector;  // "LABEL=VALUE, ..."
  std::string volumes;        // "CLAIM:/PATH, ..."
};

// `request` must outlive the keys, and must not move.
std::vector<Key> machine_keys(MachineRequest& request);

// The pairs of "a=b, c=d" for '=', of node_selector, or of "a:b, c:d" for ':', of volumes.
std::vector<std::pair<std::string, std::string>> pairs_in(std::string_view text, char separator);

// A whole number of Mi, Gi or Ti, as in "8Gi".
bool is_memory_size(std::string_view text);

// A label of DNS, which names in Kubernetes must be: at most `longest` lower-case letters, digits and '-',
// with a letter first and no '-' last. The name of a pod has 63 letters, for job, group and numbers.
inline constexpr std::size_t longest_job_label = 25, longest_group_label = 20;
bool is_dns_label(std::string_view name, std::size_t longest);

}  // namespace steelyard
