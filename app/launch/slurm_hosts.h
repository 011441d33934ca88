// The hosts of a Slurm allocation, for `steelyard launch --hosts slurm`, from the variables that sbatch and
// salloc set and the addresses that `scontrol` shows. Each node is reached by srun. Groups of a heterogeneous
// job follow one another.
//
// The first node gets the scheduler. A node gets a worker for each GPU of --gpus-per-node; without it, for
// each of its tasks if a number of tasks was requested; otherwise one. All have names worker-0, worker-1, ...
// The port of the scheduler follows from the number of the Slurm job, so that two jobs on a node do not
// collide.
#pragma once

#include <functional>
#include <string>

#include "app/config/hosts_file.h"

namespace steelyard {

// The parts of Slurm that are read.
struct Allocation {
  std::function<std::string(const std::string& name)> variable;     // of the environment; empty: not set
  std::function<std::string(const std::string& nodes)> show_nodes;  // output of `scontrol -o show node`
};
// That of this process. Throws Failure (configuration) if scontrol fails.
Allocation this_allocation();

// Without servers. Throws Failure (configuration) outside of an allocation, (usage) in a process that srun has
// started several times.
HostsFile slurm_hosts(const Allocation& allocation);

// Distributes this many server processes over the hosts, beginning with the first.
void place_servers(HostsFile& hosts, std::uint32_t servers, std::uint32_t shards_per_server);

}  // namespace steelyard
