#include "app/config/hosts_file.h"

#include <algorithm>
#include <set>

#include "app/config/hosts_keys.h"
#include "app/config/input_file.h"
#include "app/config/job_source.h"
#include "app/config/toml_section.h"
#include "app/config/toml_text.h"
#include "app/config/device_options.h"
#include "core/check.h"
#include "core/error.h"
#include "transport/address.h"

namespace steelyard {
namespace {

bool is_numeric(const std::string& address) { return is_ipv4(address) || is_ipv6(address); }

class HostsReader {
 public:
  explicit HostsReader(const JobSource& source) : source_(source) {}

  HostsFile read() {
    TomlSection::check_all(source_, schema_);
    for (const TomlSection& host : TomlSection::all_of(source_, schema_, "host")) read_host(host);
    finish();
    return std::move(file_);
  }

 private:
  void read_host(const TomlSection& section);
  static void complete_place(const TomlSection& section, HostSpec& host);
  void read_worker(const TomlSection& section);
  void finish() const;

  const JobSource& source_;
  HostsDraft draft_;
  const Schema schema_ = schema_of(draft_);
  HostsFile file_;
  std::set<std::string> hosts_, workers_;  // names
  std::uint32_t schedulers_ = 0;
};

void HostsReader::read_host(const TomlSection& section) {
  draft_.host = {};
  HostSpec& host = draft_.host;
  host.name = section.part();
  section.read();
  section.demand(hosts_.insert(host.name).second, "name",
                 "two hosts are called " + toml_quoted(host.name) + ": give each its own name");
  complete_place(section, host);
  section.demand(
      host.scheduler || !section.given("port"), "port",
      "port is the scheduler's, and " + toml_quoted(host.name) + " has none: add scheduler = true");
  section.demand(!host.scheduler || ++schedulers_ == 1, "scheduler",
                 "a second scheduler: let one host alone have scheduler = true");
  for (const TomlSection& worker : section.all_below("worker")) read_worker(worker);
  file_.hosts.push_back(std::move(host));
}

void HostsReader::complete_place(const TomlSection& section, HostSpec& host) {
  section.demand(host.ssh.empty() || host.netns.empty(), "netns",
                 "host " + toml_quoted(host.name) + " is reached by ssh or by netns: give one of the two");
  section.demand(
      host.netns.empty() || section.given("address"), "address",
      "host " + toml_quoted(host.name) + " is a network namespace: give the address that it has there");
  if (host.address.empty()) {
    host.address = host.ssh.empty() ? "127.0.0.1" : host.ssh.substr(host.ssh.find('@') + 1);
  }
  if (host.listen.empty()) host.listen = is_numeric(host.address) ? host.address : "0.0.0.0";
  if (host.steelyard.empty() && !host.ssh.empty()) host.steelyard = "steelyard";
}

void HostsReader::read_worker(const TomlSection& section) {
  draft_.worker = {};
  draft_.data.clear();
  HostWorker& worker = draft_.worker;
  worker.spec.name = "worker-" + std::to_string(workers_.size());
  section.read();
  section.demand(device_trouble(worker.spec).empty(), "device", device_trouble(worker.spec));
  for (const auto& [key, text] : draft_.data) worker.data_options.push_back(key + "=" + text);
  for (const WorkerSpec& spec : each_worker(worker.spec)) {
    section.demand(workers_.insert(spec.name).second, "name",
                   "two workers are called " + toml_quoted(spec.name) + ": give each its own name");
    draft_.host.workers.push_back({spec, worker.data_options});
  }
}

void HostsReader::finish() const {
  const auto demand = [&](bool holds, const std::string& what) {
    if (!holds) source_.refuse("", {}, what);
  };
  demand(!file_.hosts.empty(), "no host: write [[host]] once for each machine");
  demand(schedulers_ == 1, "no host has the scheduler: add scheduler = true to one of them");
  demand(file_.shards() > 0, "no host has a server: add servers = 1 to one of them");
  demand(!workers_.empty(), "no host has a worker: write [[host.worker]] below one of them");
  for (const HostSpec& host : file_.hosts) {
    const bool here = host.ssh.empty() && host.netns.empty();
    const bool spoken_to = host.scheduler || host.servers > 0;
    const bool alone = std::ranges::all_of(
        file_.hosts, [&](const HostSpec& it) { return it.ssh == host.ssh && it.netns == host.netns; });
    demand(!here || !spoken_to || alone || host.address != "127.0.0.1",
           "the others cannot reach host " + toml_quoted(host.name) +
               ", this machine, at 127.0.0.1: give its address");
  }
}

}  // namespace

const HostSpec& HostsFile::scheduler() const {
  const auto found = std::ranges::find_if(hosts, [](const HostSpec& host) { return host.scheduler; });
  CHECK(found != hosts.end(), "a hosts file without a scheduler was let through");
  return *found;
}

std::uint32_t HostsFile::shards() const {
  std::uint32_t sum = 0;
  for (const HostSpec& host : hosts) sum += host.servers * host.shards;
  return sum;
}

HostsFile parse_hosts(std::string_view text, const std::string& name) {
  const JobSource source(text, name, {});
  return HostsReader(source).read();
}

HostsFile read_hosts_file(const std::string& path) {
  const InputKind kind{"hosts file", 1,
                       "check the name, or begin with a copy of examples/hosts.toml (steelyard help hosts "
                       "lists all keys)"};
  return parse_hosts(read_input(path, kind), path);
}

}  // namespace steelyard
