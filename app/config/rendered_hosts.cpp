#include "app/config/rendered_hosts.h"

#include "app/config/toml_section.h"

namespace steelyard {
namespace {

void check_pods(const TomlSection& section, const HostSpec& host, const std::string& which) {
  section.demand(is_dns_label(host.name, longest_group_label), "name",
                 which + " cannot name pods: use at most " + std::to_string(longest_group_label) +
                     " lower-case letters, digits and '-', beginning with a letter");
  section.demand(!host.scheduler || host.machines.count == 1, "count",
                 which +
                     " has the scheduler, of which there is one: move the other machines to a [[host]] of "
                     "their own");
  const auto demand_one = [&](const std::string& key, std::size_t number, const std::string& what) {
    section.demand(number <= 1, key, which + " has " + std::to_string(number) + " " + what);
  };
  demand_one("worker", host.workers.size(), "workers, and a pod has one: give count instead");
  demand_one("servers", host.servers, "servers, and a pod has one: give count instead");
  demand_one("shards", host.shards, "shards in a server, and in a pod it has one: give more servers instead");
}

}  // namespace

void check_machines(HostsUse use, const TomlSection& section, const HostSpec& host) {
  const std::string which = "host " + toml_quoted(host.name);
  section.demand(use != HostsUse::launch || host.machines.count == 1, "count",
                 which + " is " + std::to_string(host.machines.count) +
                     " machines: only `steelyard render` finds machines by itself; write one [[host]] for "
                     "each, with its address");
  if (use == HostsUse::kubernetes) check_pods(section, host, which);
}

// Slurm numbers and names the workers itself, and pods mount data at the same place.
void check_worker(HostsUse use, const TomlSection& section, const std::vector<Key>& keys) {
  section.demand(use != HostsUse::kubernetes || !section.given("data"), "data",
                 "pods have their data at one place: give data.dir in the job, and volumes in [[host]]");
  if (use != HostsUse::slurm) return;
  for (const Key& key : keys) {
    const bool known = key.name == "name" || key.name == "device" || key.name == "threads";
    section.demand(known || !section.given(key.name), key.name,
                   "`launch --hosts slurm` takes the workers from the allocation, without " + key.name +
                       ": leave it out");
  }
}

}  // namespace steelyard
