// Which cores of a host a worker is bound to. The kernel places threads where they wake; with as many
// computing threads as cores it often leaves two of them on one core for most of a short round. So if the
// workers' threads are exactly as many as the host's cores, each worker keeps cores of its own, which lie
// together. Otherwise the kernel chooses: there are cores to spare, or they must be shared.
#pragma once

#include <vector>

#include "app/config/hosts_file.h"

namespace steelyard {

// Cores [begin, end) of a host that has `of` cores; on a host with another number of cores, or if `of` is 0,
// the process is not bound.
struct CorePart {
  unsigned begin = 0, end = 0, of = 0;
};

// The parts of a host's workers, in their order. None is bound if one of them has no fixed number of threads
// on a CPU ("auto", a GPU), works in the background, or is alone.
std::vector<CorePart> core_parts(const HostSpec& host);

// The numbers of these cores on this machine; empty: the process is not to be bound.
std::vector<unsigned> cores_of(const CorePart& part);

}  // namespace steelyard
