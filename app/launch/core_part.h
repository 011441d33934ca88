// Which cores of a host a worker is bound to. The kernel places threads where they wake; with as many
// computing threads as cores it often leaves two of them on one core for most of a short round. So if the
// workers' threads are exactly as many as the host's cores, each worker keeps cores of its own, which lie
// together. Otherwise the kernel chooses: there are cores to spare, or they must be shared.
//
// Scripts (app/launch/user_script.h) share all cores, if they are not told otherwise. They keep equal parts
// on a host without a GPU, where their number divides that of the cores.
#pragma once

#include <vector>

#include "app/config/hosts_file.h"

namespace steelyard {

// Units [begin, end) of a host that has `of` of them. A unit is a core, and with `equal_parts` one of `of`
// equal parts of the host's cores. Elsewhere, or if `of` is 0, the process is not bound.
struct CorePart {
  unsigned begin = 0, end = 0, of = 0;
  bool equal_parts = false;
};

// The parts of a host's workers, in their order. None is bound if one of them has no fixed number of threads
// on a CPU ("auto", a GPU), works in the background, or is alone.
std::vector<CorePart> core_parts(const HostSpec& host);
// The same if the workers are scripts. None is bound if one of them has a GPU or a number of threads.
std::vector<CorePart> core_parts_of_scripts(const HostSpec& host);

// The numbers of these cores on this machine; empty: the process is not to be bound. `gpu`: whether the
// machine has a GPU, which a script may use.
std::vector<unsigned> cores_of(const CorePart& part, bool gpu);
// Whether a driver of a GPU is loaded.
bool has_gpu_driver();

}  // namespace steelyard
