#include "app/launch/curve_keys.h"

#include "app/processes/trusted.h"

namespace steelyard {
namespace {

KeyRole key_role_of(const LaunchProcess& process) {
  switch (process.role) {
    case Role::scheduler:
      return KeyRole::scheduler;
    case Role::shard:
      return KeyRole::server;
    default:
      return KeyRole::worker;
  }
}

}  // namespace

// A worker has to know the scheduler alone, which tells it of the servers.
void give_keys(LaunchPlan& plan) {
  keep_memory_closed(false);
  AllowList all, schedulers;
  for (LaunchProcess& process : plan.processes) {
    const KeyPair pair = make_key(key_role_of(process), process.name);
    all.emplace(pair.public_key, Allowed{pair.role, pair.name});
    if (pair.role == KeyRole::scheduler) schedulers.emplace(pair.public_key, Allowed{pair.role, pair.name});
    process.keys = secret_line(pair);
  }
  for (LaunchProcess& process : plan.processes)
    process.keys += allow_lines(process.role == Role::worker ? schedulers : all);
}

std::string place_of_keys(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace steelyard
