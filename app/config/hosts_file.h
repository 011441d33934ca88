// The hosts file: the machines of a job, how each is reached, and the processes that run on it. `steelyard
// launch` reads it along with the job file; it replaces the job's servers and workers. TOML in, plain data
// out.
//
// `steelyard help hosts` lists all keys; their table is app/config/hosts_file.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "app/config/job_file.h"
#include "app/config/machine_request.h"
#include "app/config/schema.h"

namespace steelyard {

// Natural order of names: digits compare as numbers, so worker-2 comes before worker-10. A strict order: only
// equal texts compare equal.
bool natural_less(std::string_view a, std::string_view b);

struct HostWorker {
  WorkerSpec spec;
  std::vector<std::string> data_options;  // key=value, as `worker --data` takes them
};

struct HostSpec {
  std::string name;
  // How it is reached (app/config/reach.h): at most one of these. All empty: this machine.
  std::string ssh;                   // as in `ssh USER@HOST`
  std::string netns;                 // a network namespace of this machine
  std::vector<std::string> through;  // a command, with placeholders
  bool shared_files = false;         // this machine's files are there too, at the same paths
  std::string place;                 // of that key, for messages: "hosts.toml:3:1"

  std::string address;    // at which the other hosts reach it
  std::string listen;     // to which its ports are bound
  std::string steelyard;  // the program on that host; empty: the running program
  std::string directory;  // working directory; empty: the current one, or where the connection begins

  bool scheduler = false;
  std::uint32_t port = 7070;  // the scheduler's
  std::uint32_t servers = 0;  // processes
  std::uint32_t shards = 1;   // in each server process
  std::vector<HostWorker> workers;
  MachineRequest machines;  // what `steelyard render` asks for

  [[nodiscard]] bool is_here() const { return ssh.empty() && netns.empty() && through.empty(); }
  // Whether it has the files of this machine, so that results and logs have one directory.
  [[nodiscard]] bool has_our_files() const { return shared_files || (ssh.empty() && through.empty()); }
  // Whether one of its workers can host shards (can_host_shards in app/config/prepare_job.h).
  [[nodiscard]] bool can_host() const;
};

// What a hosts file is read for: for `launch` and `plan`, which reach each host at its address, or for
// `render`, where Slurm or Kubernetes finds the machines.
enum class HostsUse : std::uint8_t { launch, slurm, kubernetes };

struct HostsFile {
  std::vector<std::string> notices{};  // warnings for the user about former names of keys
  // Exactly one has the scheduler. At least one worker in all; without a server, one of them can be a server,
  // too (servers = "workers" in the job).
  std::vector<HostSpec> hosts;

  [[nodiscard]] const HostSpec& scheduler() const;
  [[nodiscard]] std::uint32_t shards() const;  // of the servers of all hosts
};

// Throws Failure (configuration) with file, line and column, the value found and the values accepted.
HostsFile read_hosts_file(const std::string& path, HostsUse use = HostsUse::launch);
HostsFile parse_hosts(std::string_view text, const std::string& name, HostsUse use = HostsUse::launch);

// As TOML, without defaults. parse_hosts() reads the same hosts from it.
std::string hosts_text(const HostsFile& hosts);
// Keeps only these workers, in the file's order, and drops hosts that are left without any process. If none
// that is left could host the shards, the scheduler's host gets a server.
HostsFile with_workers(HostsFile hosts, const std::vector<std::string>& names);

// ---- the keys of a hosts file

// The members that the keys fill.
struct HostsDraft {
  HostSpec defaults;  // of every [[host]]
  HostSpec host;      // the [[host]] being read
  HostWorker worker;  // the [[host.worker]] being read
  OptionTexts data;   // of that worker
};

Schema schema_of(HostsDraft& draft);

}  // namespace steelyard
