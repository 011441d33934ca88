#include "app/render/rendered_job.h"

namespace steelyard {

std::uint32_t machines_in(const HostsFile& hosts) {
  std::uint32_t sum = 0;
  for (const HostSpec& host : hosts.hosts) sum += host.machines.count;
  return sum;
}

std::uint32_t workers_in(const HostsFile& hosts) {
  std::uint32_t sum = 0;
  for (const HostSpec& host : hosts.hosts)
    sum += host.machines.count * static_cast<std::uint32_t>(host.workers.size());
  return sum;
}

std::uint32_t servers_in(const HostsFile& hosts) {
  std::uint32_t sum = 0;
  for (const HostSpec& host : hosts.hosts) sum += host.machines.count * host.servers;
  return sum;
}

}  // namespace steelyard
