#include "cli/roles.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <random>

namespace steelyard {

NodeId new_node(Role role) {
  std::random_device device;
  const std::uint64_t number = (std::uint64_t{device()} << 32) | device();
  return {role, number | 1};  // never 0, which is the scheduler's
}

std::string default_name(const char* role) {
  std::array<char, 64> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(role) + "-" + host.data() + "-" + std::to_string(getpid());
}

void require_device(const std::string& worker, const std::string& device) {
  if (device == "cpu") return;
  throw Failure(ExitCode::configuration, "worker '" + worker + "': device \"" + device +
                                             "\" cannot compute yet, only \"cpu\" can; change its device");
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace steelyard
