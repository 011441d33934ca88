#include "app/config/hosts_file.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "app/config/choices.h"
#include "app/config/job_source.h"
#include "app/config/prepare_job.h"
#include "app/config/reach.h"
#include "app/config/rendered_hosts.h"
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
    read_defaults();
    for (const TomlSection& host : TomlSection::all_of(source_, schema_, "host")) read_host(host);
    finish();
    return std::move(file_);
  }

 private:
  void read_defaults() {
    const TomlSection section = TomlSection::of(source_, schema_, "defaults");
    section.read();
    section.demand_none(placeholder_trouble(draft_.defaults.through), "through");
    if (section.given("through")) draft_.defaults.place = section.place("through");
  }

  void read_host(const TomlSection& section) {
    draft_.host = draft_.defaults;
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
    check_machines(use_, section, host);
    file_.hosts.push_back(std::move(host));
  }

  static void complete_place(const TomlSection& section, HostSpec& host) {
    const std::string called = "host " + toml_quoted(host.name);
    std::string way;
    for (const char* key : {"ssh", "netns", "through"}) {
      if (!section.given(key)) continue;
      section.demand(way.empty(), key, called + " has both " + way + " and " + key + ": give one of the two");
      way = key;
      host.place = section.place(key);
    }
    if (way == "ssh" || way == "netns") host.through.clear();  // of [defaults]
    section.demand_none(placeholder_trouble(host.through), "through");
    section.demand(host.netns.empty() || section.given("address"), "address",
                   called + " is a network namespace: give its address in there");
    section.demand(host.through.empty() || section.given("name") || section.given("address"), "through",
                   called +
                       " is reached by a command: give its address for the other hosts, or its name if "
                       "that can be looked up");
    if (host.address.empty()) {
      host.address = !host.ssh.empty()      ? host.ssh.substr(host.ssh.find('@') + 1)
                     : host.through.empty() ? "127.0.0.1"
                                            : host.name;
    }
    if (host.listen.empty()) host.listen = is_numeric(host.address) ? host.address : "0.0.0.0";
    if (host.steelyard.empty() && !host.has_our_files()) host.steelyard = "steelyard";
  }

  void read_worker(const TomlSection& section) {
    draft_.worker = {};
    draft_.data.clear();
    HostWorker& worker = draft_.worker;
    worker.spec.name = "worker-" + std::to_string(workers_.size());
    section.read();
    section.demand_none(device_trouble(worker.spec), "device");
    check_worker(use_, section, schema_.at("host.worker").keys);
    for (const auto& [key, text] : draft_.data) worker.data_options.push_back(key + "=" + text);
    for (const WorkerSpec& spec : each_worker(worker.spec)) {
      section.demand(workers_.insert(spec.name).second, "name",
                     "two workers are named " + toml_quoted(spec.name) + ": give each its own name");
      draft_.host.workers.push_back({spec, worker.data_options});
    }
  }

  void finish() const {
    const auto demand = [&](bool holds, const std::string& what) {
      if (!holds) source_.refuse("", {}, what);
    };
    demand(!file_.hosts.empty(), "no host: write [[host]] once for each machine");
    demand(schedulers_ == 1, "no host has the scheduler: add scheduler = true to one of them");
    const bool placed = file_.shards() > 0;
    demand(placed || std::ranges::any_of(file_.hosts, &HostSpec::can_host),
           "no host has a server: add servers = 1 to one of them; or, for a job with servers = \"workers\", "
           "give a worker a GPU, as in device = \"cuda:0\"");
    demand(!workers_.empty(), "no host has a worker: write [[host.worker]] below one of them");
    for (const HostSpec& host : file_.hosts) {
      const bool spoken_to = host.scheduler || host.servers > 0 || (!placed && host.can_host());
      const bool alone = std::ranges::all_of(file_.hosts, &HostSpec::is_here);
      demand(
          use_ != HostsUse::launch || !host.is_here() || !spoken_to || alone || host.address != "127.0.0.1",
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

std::vector<Key> keys_of_the_way(HostSpec& host) {
  return {
      {"through", &host.through, Limits::texts(is_one_line, 64),
       "any command whose standard input and output are those of the program that it is given: the words of "
       "the program follow, or replace {command} as one text for a shell; {name} and {address} are those of "
       "the host",
       R"(["srun", "-N1", "-n1", "-w", "{name}", "--overlap"])"},
      {"shared_files", &host.shared_files, Limits::any(),
       "true: this machine's files are there too, at the same paths, and results are in its run directory"},
  };
}

std::vector<Key> keys_of_the_program(HostSpec& host) {
  return {
      {"steelyard", &host.steelyard, Limits::text(is_one_line, "the path of the program on that host", false),
       "the program there; default: the running program, on a host with other files steelyard in PATH "
       "or ~/.local/bin",
       "\"steelyard\""},
      {"directory", &host.directory, Limits::text(is_one_line, "a path on that host", false),
       "working directory there; default: the current one, on a host with other files that of the connection "
       "(over ssh the home directory)",
       "\"job\""},
  };
}

std::vector<Key> keys_of_a_host(HostSpec& host) {
  const Limits address = Limits::text(is_address, "a host name or an address, without a port", false);
  return joined(
      {{{"name", &host.name, Limits::plain_name(), "name in messages; default: host-0, host-1, ...",
         "\"host-0\""},
        {"ssh", &host.ssh, Limits::text(is_one_word, "an argument of ssh, as in \"user@host\"", false),
         "over ssh, without a password", "\"user@host\"",
         "how it is reached: one of the next three; without them it is this machine"},
        {"netns", &host.netns,
         Limits::text(is_plain_name, "the name of a network namespace, as `ip netns` lists it", false),
         "a network namespace of this machine (as root); needs an address", "\"left\""}},
       keys_of_the_way(host),
       {{"address", &host.address, address,
         "address at which the other hosts reach it; default: the host of ssh, with through the name, or "
         "127.0.0.1",
         "\"10.0.0.1\"", "where it is, and what runs there"},
        {"listen", &host.listen, address,
         "address to which its ports are bound; default: address, or 0.0.0.0 if that is a name",
         "\"10.0.0.1\""}},
       keys_of_the_program(host),
       {
           {"scheduler", &host.scheduler, Limits::any(),
            "true for exactly one host, which gets the scheduler, the job and the results"},
           {"port", &host.port, Limits::at_least(1, 65535), "port of the scheduler"},
           {"servers", &host.servers, Limits::at_least(0, 1024),
            "server processes; if no host has any, GPU workers keep the model (servers = \"workers\" in the "
            "job)"},
           {"shards", &host.shards, Limits::at_least(1, 64), "shards of the model in each server process"},
       },
       machine_keys(host.machines)});
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

bool HostSpec::can_host() const {
  return std::ranges::any_of(workers,
                             [](const HostWorker& worker) { return can_host_shards(worker.spec.device); });
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
      {{"defaults", "keys of every [[host]] that does not give them",
        joined({keys_of_the_way(draft.defaults), keys_of_the_program(draft.defaults)})},
       {"host", "one [[host]] for each machine, at least one", keys_of_a_host(draft.host), Kind::list, true},
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
  const bool hosted = hosts.shards() == 0;
  for (HostSpec& host : hosts.hosts)
    std::erase_if(host.workers, [&](const HostWorker& worker) {
      return std::ranges::find(names, worker.spec.name) == names.end();
    });
  std::erase_if(hosts.hosts, [](const HostSpec& host) {
    return !host.scheduler && host.servers == 0 && host.workers.empty();
  });
  if (hosted && std::ranges::none_of(hosts.hosts, &HostSpec::can_host))
    std::ranges::find_if(hosts.hosts, &HostSpec::scheduler)->servers = 1;
  return hosts;
}

}  // namespace steelyard
