// The hosts file: on which machines a job runs, how each is reached, and what each of them does. `steelyard
// launch` reads it beside the job file, whose servers and workers it replaces. TOML in, plain data out.
//
// `steelyard help hosts` lists all keys; their table is app/config/hosts_file.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/job_file.h"
#include "app/config/schema.h"

namespace steelyard {

// The order in which people look for names: numbers within them count as numbers, so that worker-2 comes
// before worker-10.
bool natural_less(std::string_view a, std::string_view b);  // a strict order: only equal texts are equal

struct HostWorker {
  WorkerSpec spec;
  std::vector<std::string> data_options;  // key=value, as `worker --data` takes them
};

struct HostSpec {
  std::string name;
  // How it is reached: by one of these, or it is this machine.
  std::string ssh;    // as in `ssh USER@HOST`
  std::string netns;  // a network namespace of this machine

  std::string address;    // under which the other hosts reach it
  std::string listen;     // what its own ports are bound to
  std::string steelyard;  // the program there; empty: the very program that launches
  std::string directory;  // where it runs; empty: here, or where ssh leads to

  bool scheduler = false;
  std::uint32_t port = 7070;  // the scheduler's
  std::uint32_t servers = 0;  // processes
  std::uint32_t shards = 1;   // parts of the model in each of them
  std::vector<HostWorker> workers;
};

struct HostsFile {
  std::vector<std::string> notices{};  // what the user should know of the file: keys with a former name
  std::vector<HostSpec> hosts;  // one of them with the scheduler; at least one server and one worker in all

  [[nodiscard]] const HostSpec& scheduler() const;
  [[nodiscard]] std::uint32_t shards() const;  // of all hosts
};

// Throws Failure (configuration) that names file, line and column, what is there and what may be there.
HostsFile read_hosts_file(const std::string& path);
HostsFile parse_hosts(std::string_view text, const std::string& name);

// As TOML, without what is a default; read again it gives the same.
std::string hosts_text(const HostsFile& hosts);
// With these workers only, in the file's order, and without hosts that have nothing left to do.
HostsFile with_workers(HostsFile hosts, const std::vector<std::string>& names);

// What a hosts file can say.

// A hosts file on its way into settings.
struct HostsDraft {
  HostSpec host;      // the [[host]] at hand
  HostWorker worker;  // the [[host.worker]] at hand
  OptionTexts data;   // of that worker
};

Schema schema_of(HostsDraft& draft);

}  // namespace steelyard
