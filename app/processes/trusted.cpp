#include "app/processes/trusted.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/processes/processes.h"

namespace steelyard {
// A core file that is written all the same (a pipe takes no notice of the limit) has nothing in it. Who lends
// memory stays open to processes of the same user: they open it by way of /proc.
void keep_memory_closed(bool lends) {
  const int filter = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);
  if (filter >= 0) {
    (void)!write(filter, "0", 1);
    close(filter);
  }
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (!lends) prctl(PR_SET_DUMPABLE, 0);
}

std::unique_ptr<Trust> trust_for(const std::string& keys, KeyRole role, const std::string& name, bool lends) {
  if (keys.empty()) return nullptr;
  Keys loaded = load_keys(keys, role, name);  // before the process is closed to others, itself among them
  keep_memory_closed(lends);
  return std::make_unique<Trust>(std::move(loaded), speaker(steelyard::name(role), name, false));
}

}  // namespace steelyard
