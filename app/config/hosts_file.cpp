#include "app/config/hosts_file.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "app/config/choices.h"
#include "app/config/job_source.h"
#include "app/config/toml_section.h"
#include "core/check.h"
#include "core/error.h"
#include "transport/address.h"

namespace steelyard {
namespace {

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// Removes the number at the start of the text and returns its digits, without leading zeros. Empty if there
// is no number.
std::string_view take_number(std::string_view& text) {
  const auto end = std::ranges::find_if_not(text, is_digit);
  std::string_view number(text.begin(), end);
  text.remove_prefix(number.size());
  number.remove_prefix(std::min(number.find_first_not_of('0'), number.size()));
  return number;
}

bool is_numeric(const std::string& address) { return is_ipv4(address) || is_ipv6(address); }

class HostsReader {
 public:
  HostsReader(JobSource& source, HostsUse use) : source_(source), use_(use) {}

  HostsFile read() {
    source_.rename_former(schema_);
    file_.notices = source_.notices();
    TomlSection::check_all(source_, schema_);
    for (const TomlSection& host : TomlSection::all_of(source_, schema_, "host")) read_host(host);
    finish();
    return std::move(file_);
  }

 private:
  void read_host(const TomlSection& section) {
    draft_.host = {};
    HostSpec& host = draft_.host;
    host.name = section.part();
    section.read();
    section.demand(hosts_.insert(host.name).second, "name",
                   "two hosts are named " + toml_quoted(host.name) + ": give each its own name");
    complete_place(section, host);
    section.demand(host.scheduler || !section.given("port"), "port",
                   "port is the scheduler's port, and " + toml_quoted(host.name) +
                       " has no scheduler: add scheduler = true, or leave port out");
    section.demand(!host.scheduler || ++schedulers_ == 1, "scheduler",
                   "a second scheduler: set scheduler = true on one host only");
    for (const TomlSection& worker : section.all_below("worker")) read_worker(worker);
    check_machines(section, host);
    file_.hosts.push_back(std::move(host));
  }

  static void complete_place(const TomlSection& section, HostSpec& host) {
    section.demand(host.ssh.empty() || host.netns.empty(), "netns",
                   "host " + toml_quoted(host.name) + " has both ssh and netns: give one of the two");
    section.demand(host.netns.empty() || section.given("address"), "address",
                   "host " + toml_quoted(host.name) + " is a network namespace: give its address in there");
    if (host.address.empty()) {
      host.address = host.ssh.empty() ? "127.0.0.1" : host.ssh.substr(host.ssh.find('@') + 1);
    }
    if (host.listen.empty()) host.listen = is_numeric(host.address) ? host.address : "0.0.0.0";
    if (host.steelyard.empty() && !host.ssh.empty()) host.steelyard = "steelyard";
  }

  void read_worker(const TomlSection& section) {
    draft_.worker = {};
    draft_.data.clear();
    HostWorker& worker = draft_.worker;
    worker.spec.name = "worker-" + std::to_string(workers_.size());
    section.read();
    section.demand_none(device_trouble(worker.spec), "device");
    check_worker(section);
    for (const auto& [key, text] : draft_.data) worker.data_options.push_back(key + "=" + text);
    for (const WorkerSpec& spec : each_worker(worker.spec)) {
      section.demand(workers_.insert(spec.name).second, "name",
                     "two workers are named " + toml_quoted(spec.name) + ": give each its own name");
      draft_.host.workers.push_back({spec, worker.data_options});
    }
  }

  // Slurm numbers and names the workers itself, and pods mount data at the same place.
  void check_worker(const TomlSection& section) const {
    section.demand(use_ != HostsUse::kubernetes || !section.given("data"), "data",
                   "pods have their data at one place: give data.dir in the job, and volumes in [[host]]");
    if (use_ != HostsUse::slurm) return;
    for (const Key& key : schema_.at("host.worker").keys) {
      const bool known = key.name == "name" || key.name == "device" || key.name == "threads";
      section.demand(known || !section.given(key.name), key.name,
                     "`launch --hosts slurm` takes the workers from the allocation, without " + key.name +
                         ": leave it out");
    }
  }

  void check_machines(const TomlSection& section, const HostSpec& host) const {
    const std::string which = "host " + toml_quoted(host.name);
    section.demand(use_ != HostsUse::launch || host.machines.count == 1, "count",
                   which + " is " + std::to_string(host.machines.count) +
                       " machines: only `steelyard render` finds machines by itself; write one [[host]] for "
                       "each, with its address");
    if (use_ != HostsUse::kubernetes) return;
    const auto demand_one = [&](const std::string& key, std::size_t number, const std::string& what) {
      section.demand(number <= 1, key, which + " has " + std::to_string(number) + " " + what);
    };
    demand_one("worker", host.workers.size(), "workers, and a pod has one: give count instead");
    demand_one("servers", host.servers, "servers, and a pod has one: give count instead");
    demand_one("shards", host.shards, "shards in a server, and in a pod it has one: give more servers instead");
    section.demand(is_dns_label(host.name, longest_group_label), "name",
                   which + " cannot name pods: use at most " + std::to_string(longest_group_label) +
                       " lower-case letters, digits and '-', beginning with a letter");
    section.demand(!host.scheduler || host.machines.count == 1, "count",
                   which + " has the scheduler, of which there is one: move the other machines to a [[host]] of their own");
  }

  void finish() const {
    const auto demand = [&](bool holds, const std::string& what) {
      if (!holds) source_.refuse("", {}, what);
    };
    demand(!file_.hosts.empty(), "no host: write [[host]] once for each machine");
    demand(schedulers_ == 1, "no host has the scheduler: add scheduler = true to one of them");
    demand(file_.shards() > 0, "no host has a server: add servers = 1 to one of them");
    demand(!workers_.empty(), "no host has a worker: write [[host.worker]] below one of them");
    for (const HostSpec& host : file_.hosts) {
      const bool here = use_ == HostsUse::launch && host.ssh.empty() && host.netns.empty();
      const bool spoken_to = host.scheduler || host.servers > 0;
      const bool alone = std::ranges::all_of(
          file_.hosts, [&](const HostSpec& it) { return it.ssh == host.ssh && it.netns == host.netns; });
      demand(!here || !spoken_to || alone || host.address != "127.0.0.1",
             "the other hosts cannot reach host " + toml_quoted(host.name) +
                 ", which is this machine, at 127.0.0.1: give its address");
    }
  }

  JobSource& source_;
  HostsUse use_;
  HostsDraft draft_;
  const Schema schema_ = schema_of(draft_);
  HostsFile file_;
  std::set<std::string> hosts_, workers_;  // names
  std::uint32_t schedulers_ = 0;
};
bool is_one_line(std::string_view text) { return text.find('\n') == std::string_view::npos; }

// False for a text that ssh or a shell could read as an option, or as several words.
bool is_one_word(std::string_view text) {
  return text[0] != '-' && text.find_first_of(" \t\n'\"\\$`;&|<>()") == std::string_view::npos;
}

// Brackets are rejected: they suggest that a port follows.
bool is_address(std::string_view text) {
  return is_one_word(text) && text.find_first_of("/[]") == std::string_view::npos &&
         (text.find(':') == std::string_view::npos || is_ipv6(std::string(text)));
}

std::vector<Key> keys_of_a_host(HostSpec& host) {
  const Limits address = Limits::text(is_address, "a host name or an address, without a port", false);
  std::vector<Key> keys{
      {"name", &host.name, Limits::plain_name(), "name in messages; default: host-0, host-1, ...",
       "\"host-0\""},
      {"ssh", &host.ssh, Limits::text(is_one_word, "an argument of ssh, as in \"user@host\"", false),
       "over ssh, without a password", "\"user@host\"",
       "how it is reached: one of the next two; without them it is this machine"},
      {"netns", &host.netns,
       Limits::text(is_plain_name, "the name of a network namespace, as `ip netns` lists it", false),
       "a network namespace of this machine (as root); needs an address", "\"left\""},
      {"address", &host.address, address,
       "address at which the other hosts reach it; default: the host of ssh, or 127.0.0.1", "\"10.0.0.1\"",
       "where it is, and what runs there"},
      {"listen", &host.listen, address,
       "address to which its ports are bound; default: address, or 0.0.0.0 if that is a name",
       "\"10.0.0.1\""},
      {"steelyard", &host.steelyard, Limits::text(is_one_line, "the path of the program on that host", false),
       "the program there; default: over ssh steelyard in PATH, otherwise the running program",
       "\"steelyard\""},
      {"directory", &host.directory, Limits::text(is_one_line, "a path on that host", false),
       "working directory there; default: the current one, over ssh the home directory", "\"job\""},
      {"scheduler", &host.scheduler, Limits::any(),
       "true for exactly one host, which gets the scheduler, the job and the results"},
      {"port", &host.port, Limits::at_least(1, 65535), "port of the scheduler"},
      {"servers", &host.servers, Limits::at_least(0, 1024), "server processes"},
      {"shards", &host.shards, Limits::at_least(1, 64), "shards of the model in each server process"},
  };
  return joined({std::move(keys), machine_keys(host.machines)});
}

// The keys that differ from the defaults in `plain`, as TOML.
std::string changed_lines(const Section& section, const Section& plain) {
  std::string text;
  for (std::size_t i = 0; i < section.keys.size(); ++i) {
    const std::string value = value_text(section.keys[i]);
    if (value != value_text(plain.keys[i])) text += section.keys[i].name + " = " + value + "\n";
  }
  return text;
}

std::string data_line(const std::vector<std::string>& options) {
  std::string list;
  for (const std::string& option : options) {
    const std::size_t equals = option.find('=');
    list += (list.empty() ? " " : ", ") + option.substr(0, equals) + " = " +
            option_text(option.substr(equals + 1));
  }
  return list.empty() ? "" : "data = {" + list + " }\n";
}

}  // namespace

bool natural_less(std::string_view a, std::string_view b) {
  const std::string_view whole_a = a, whole_b = b;
  while (!a.empty() && !b.empty()) {
    if (is_digit(a[0]) && is_digit(b[0])) {
      const std::string_view x = take_number(a), y = take_number(b);
      if (x != y) return std::tuple(x.size(), x) < std::tuple(y.size(), y);
    } else {
      if (a[0] != b[0]) return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  if (a.empty() != b.empty()) return a.empty();
  return whole_a < whole_b;  // they differ in leading zeros at most
}

const HostSpec& HostsFile::scheduler() const {
  const auto found = std::ranges::find_if(hosts, [](const HostSpec& host) { return host.scheduler; });
  CHECK(found != hosts.end(), "the reader accepts only hosts files with a scheduler");
  return *found;
}

std::uint32_t HostsFile::shards() const {
  std::uint32_t sum = 0;
  for (const HostSpec& host : hosts) sum += host.servers * host.shards;
  return sum;
}

HostsFile parse_hosts(std::string_view text, const std::string& name, HostsUse use) {
  JobSource source(text, name, {});
  return HostsReader(source, use).read();
}

HostsFile read_hosts_file(const std::string& path, HostsUse use) {
  const InputKind kind{"hosts file", 1,
                       "check the name, or start with a copy of examples/hosts.toml (steelyard help hosts "
                       "lists all keys)"};
  return parse_hosts(read_input(path, kind), path, use);
}

Schema schema_of(HostsDraft& draft) {
  using Kind = Section::Kind;
  std::vector<Key> worker = worker_keys(draft.worker.spec);
  worker.push_back({"data", &draft.data, Limits::any(), "data options that replace the job's on this worker",
                    "{ dir = \"/data\" }"});
  return {
      "the hosts of steelyard launch",
      "A hosts file says which processes `steelyard launch` starts on which machine.\n"
      "It replaces the servers and workers of the job.\n",
      {{"host", "one [[host]] for each machine, at least one", keys_of_a_host(draft.host), Kind::list, true},
       {"host.worker", "one for each worker, below its host; at least one in all", std::move(worker),
        Kind::list}}};
}

std::string hosts_text(const HostsFile& hosts) {
  HostsDraft draft, plain;
  const Schema schema = schema_of(draft), defaults = schema_of(plain);
  std::string text;
  for (const HostSpec& host : hosts.hosts) {
    draft.host = host;
    text += "[[host]]\n" + changed_lines(schema.at("host"), defaults.at("host"));
    for (const HostWorker& worker : host.workers) {
      draft.worker = worker;
      text += "[[host.worker]]\n" + changed_lines(schema.at("host.worker"), defaults.at("host.worker")) +
              data_line(worker.data_options);
    }
    text += "\n";
  }
  return text;
}

HostsFile with_workers(HostsFile hosts, const std::vector<std::string>& names) {
  for (HostSpec& host : hosts.hosts)
    std::erase_if(host.workers, [&](const HostWorker& worker) {
      return std::ranges::find(names, worker.spec.name) == names.end();
    });
  std::erase_if(hosts.hosts, [](const HostSpec& host) {
    return !host.scheduler && host.servers == 0 && host.workers.empty();
  });
  return hosts;
}

}  // namespace steelyard
