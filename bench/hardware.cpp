#include "bench/hardware.h"

#include <pthread.h>
#include <sched.h>
#include <sys/utsname.h>

#include <vector>

#include "core/cores.h"
#include "core/processor.h"

namespace steelyard::bench {
namespace {

// The cores available to this process; read once, before any thread is pinned.
const std::vector<unsigned>& cores() {
  static const std::vector<unsigned> given = allowed_core_numbers();
  return given;
}

}  // namespace

std::string hardware() {
  utsname system{};
  uname(&system);
  return processor_name() + ", " + std::to_string(cores().size()) + " cores, kernels for " +
         name(cpu_level()) + ", " + system.sysname + " " + system.release;
}

void pin(unsigned core) {
  if (cores().empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cores()[core % cores().size()], &set);
  pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

}  // namespace steelyard::bench
