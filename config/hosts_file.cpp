#include "config/hosts_file.h"

#include <algorithm>
#include <set>

#include "config/input_file.h"
#include "config/job_keys.h"
#include "config/job_source.h"
#include "config/toml_section.h"
#include "config/toml_text.h"
#include "core/check.h"
#include "core/error.h"
#include "core/near_match.h"
#include "wire/transport/address.h"
#include "worker/compute/throttle.h"

namespace steelyard {
namespace {

constexpr double most_samples = 1e12;

bool any_text(std::string_view text) { return text.find('\n') == std::string_view::npos; }

// What could be taken for an option, or for two words, by the programs that get it.
bool is_one_word(std::string_view text) {
  return text[0] != '-' && text.find_first_of(" \t\n'\"\\$`;&|<>()") == std::string_view::npos;
}

// With brackets it is meant to have a port behind it.
bool is_address(std::string_view text) {
  return is_one_word(text) && text.find_first_of("/[]") == std::string_view::npos &&
         (text.find(':') == std::string_view::npos || is_ipv6(std::string(text)));
}

bool is_numeric(const std::string& address) { return is_ipv4(address) || is_ipv6(address); }

class HostsReader {
 public:
  explicit HostsReader(const JobSource& source) : source_(source) {}

  HostsFile read() {
    for (auto&& [key, node] : source_.root()) {
      const std::string name(key.str());
      if (name == "host" && !node.is_array_of_tables())
        source_.refuse("", key.source(), "\"host\" must be a section: write [[host]] once for each machine");
      if (name != "host") {
        source_.refuse("", key.source(),
                       "\"" + name + "\" does not belong here" + did_you_mean(name, {"host"}) +
                           " (there is [[host]], once for each machine, and [[host.worker]] below it)");
      }
    }
    for (TomlSection& host : TomlSection::all_of(source_, "host")) read_host(host);
    finish();
    return std::move(file_);
  }

 private:
  void read_host(TomlSection& table);
  void read_place(TomlSection& table, HostSpec& host);
  void read_worker(TomlSection& table, HostSpec& host);
  void finish() const;

  const JobSource& source_;
  HostsFile file_;
  std::set<std::string> hosts_, workers_;  // names
  std::uint32_t schedulers_ = 0;
};

void HostsReader::read_host(TomlSection& table) {
  HostSpec host;
  host.name = "host-" + std::to_string(file_.hosts.size());
  table.text("name", host.name, is_plain_name, "a name of letters, digits, '.', '_' and '-'");
  table.demand(hosts_.insert(host.name).second, "name",
               "two hosts are called " + quoted(host.name) + ": give each its own name");
  read_place(table, host);
  table.flag("scheduler", host.scheduler);
  table.whole("port", host.port, 1, 65535);
  table.demand(host.scheduler || !table.given("port"), "port",
               "port is the scheduler's, and " + quoted(host.name) + " has none: add scheduler = true");
  table.demand(!host.scheduler || ++schedulers_ == 1, "scheduler",
               "a second scheduler: let one host alone have scheduler = true");
  table.whole("servers", host.servers, 0, 1024);
  table.whole("shards", host.shards, 1, 64);
  for (TomlSection& worker : table.all_below("worker", "[[host.worker]]")) read_worker(worker, host);
  table.finish();
  file_.hosts.push_back(std::move(host));
}

void HostsReader::read_place(TomlSection& table, HostSpec& host) {
  table.text("ssh", host.ssh, is_one_word, "what ssh takes, as in \"user@host\"");
  table.text("netns", host.netns, is_plain_name, "the name of a network namespace, as `ip netns` lists it");
  table.demand(host.ssh.empty() || host.netns.empty(), "netns",
               "host " + quoted(host.name) + " is reached by ssh or by netns: give one of the two");
  const char* expected = "a host name or an address, without a port";
  table.text("address", host.address, is_address, expected);
  table.demand(host.netns.empty() || table.given("address"), "address",
               "host " + quoted(host.name) + " is a network namespace: give the address that it has there");
  if (host.address.empty()) {
    host.address = host.ssh.empty() ? "127.0.0.1" : host.ssh.substr(host.ssh.find('@') + 1);
  }
  host.listen = is_numeric(host.address) ? host.address : "0.0.0.0";
  table.text("listen", host.listen, is_address, expected);
  if (!host.ssh.empty()) host.steelyard = "steelyard";
  table.text("steelyard", host.steelyard, any_text, "the path of the program on that host");
  table.text("directory", host.directory, any_text, "a path on that host");
}

void HostsReader::read_worker(TomlSection& table, HostSpec& host) {
  HostWorker worker;
  worker.spec.name = "worker-" + std::to_string(workers_.size());
  table.text("name", worker.spec.name, is_plain_name, "a name of letters, digits, '.', '_' and '-'");
  table.demand(workers_.insert(worker.spec.name).second, "name",
               "two workers are called " + quoted(worker.spec.name) + ": give each its own name");
  table.text(
      "device", worker.spec.device, [](std::string_view it) { return it == "cpu" || it == "gpu"; },
      "\"cpu\" or \"gpu\"");
  table.text_or_number("slow", worker.spec.slow, Throttle::is_slow, Throttle::slow_expected());
  table.text_or_number("cpu", worker.spec.cpu, Throttle::is_cpu, Throttle::cpu_expected());
  table.whole("max_batch", worker.spec.max_batch, 0, most_samples);
  const char* data_example = "give options, as in { dir = \"/data/fashion\" }";
  for (const auto& [key, text] : table.below("data", data_example).options()) {
    worker.data_options.push_back(key + "=" + text);
  }
  table.finish();
  host.workers.push_back(std::move(worker));
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
           "the others cannot reach host " + quoted(host.name) +
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

std::string describe_hosts() {
  return R"(A hosts file says where `steelyard launch` starts what.
It replaces the servers and workers of the job.

[[host]]                   one for each machine
  name = "host-0"            what messages call it
  ssh = "user@host"          how it is reached: by ssh, without a password; or
  netns = "left"             a network namespace of this machine (as root); neither: this machine
  address = "10.0.0.1"       how the other hosts reach it. Left out: the host of ssh, or 127.0.0.1
  listen = "10.0.0.1"        what its ports are bound to. Left out: address, or 0.0.0.0 where that is a name
  steelyard = "steelyard"    the program there. Left out: over ssh the one in PATH, else the one that launches
  directory = "job"          where it runs. Left out: here, over ssh the home directory
  scheduler = false          true for one of the hosts; job and results are there
  port = 7070                the scheduler's
  servers = 0                server processes, with
  shards = 1                 parts of the model in each
[[host.worker]]            below its host, one for each
  name = "worker-0"
  device = "cpu"             what it computes on
  slow = 1                   slows its computation down, and
  cpu = 1                    leaves it a share of its processor, both as in a job file
  max_batch = 0              samples that fit its memory at once; 0: no limit
  data = { dir = "/data" }   data options that differ there from the job's
)";
}

}  // namespace steelyard
