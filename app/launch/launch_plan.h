// Which process is started where, and by which command: made of hosts and a job before anything runs. Pure,
// but for require_reachable. A cluster on this machine alone, as `train` starts it, is a plan with one host.
//
// On every other host one process attends (app/launch/pipes.h) and starts the roles there, so that a host
// costs one connection, and the connection's end is the end of all that it started.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/hosts_file.h"
#include "app/processes/process_settings.h"
#include "core/error.h"
#include "protocol/node.h"

namespace steelyard {

// What those are told who start a whole cluster, here or on many machines.

// Workers that are a program of the user, in the place of a job file (app/launch/user_script.h).
struct ScriptOptions {
  std::string path;                    // empty: the workers come by themselves
  std::vector<std::string> arguments;  // its own
  unsigned workers = 1;                // on this machine; those of `launch` are in the hosts file
  std::string sockets;                 // the directory in which processes of this machine find each other
};

struct LaunchOptions {
  std::optional<std::string> hosts_file;  // none: all on this machine, as `train` does
  std::string job_file;
  std::optional<ScriptOptions> script;
  std::vector<std::string> overrides;  // key=value
  ResultOptions results;               // on the scheduler's host
  std::string exchange = exchanges.front();
  bool trace = false;  // on one machine: the run has a timeline
  bool quiet = false;
  bool insecure = false;
  bool dry_run = false;
};

struct AttendOptions {
  std::string directory;  // empty: where it is
  double silence = 300;   // seconds without a word from the launcher until it counts as gone
};

struct LaunchProcess {
  std::string name;  // its own, also in messages
  std::string host;
  Role role = Role::worker;            // scheduler, or shard for a server
  std::vector<std::string> arguments;  // of the program
  std::string input;                   // the scheduler reads the job there
  // A worker that is a script (app/launch/user_script.h), as StartProcess has them.
  std::string program{};  // empty: ours
  std::vector<std::string> environment{};
  unsigned sharing = 0;
  std::string keys{};  // likewise

  [[nodiscard]] bool is_script() const { return !program.empty(); }
};

struct LaunchHost {
  HostSpec spec;
  std::string program;             // there
  std::vector<std::string> reach;  // the command that attends to it
};

struct LaunchPlan {
  std::vector<LaunchHost> hosts;
  std::vector<LaunchProcess> processes;  // in the order in which they are started
  bool keyed = false;                    // each process gets keys of this one run
  bool here = false;  // all on this machine: this very process starts them, with sockets in a directory

  [[nodiscard]] std::string roles_on(const std::string& host) const;  // "scheduler, server-0, ada"
  [[nodiscard]] std::size_t workers() const;
};

// The job with the hosts' servers and workers for its own. Throws Failure (usage) for a --set that is about
// workers, (configuration) as read_job_file does.
JobFile job_for_hosts(const LaunchOptions& options, const HostsFile& hosts);

// This machine as the one host of a job, with the servers and workers that the job itself names; without the
// workers, where they come by themselves.
HostsFile this_machine(const JobFile& job, bool with_workers = true);

// `self` is the program that launches. `sockets`, for a plan without a hosts file, is the directory in which
// the processes find each other. Between hosts a plan is keyed, unless plain text was asked for.
LaunchPlan make_launch_plan(const LaunchOptions& options, const HostsFile& hosts, const JobFile& job,
                            const std::string& self, const std::string& sockets = "");

// Throws Failure (configuration) for what can be seen from here: no such namespace, no such program.
void require_reachable(const LaunchHost& host);

// Why nothing was heard of a host, as far as the end of the connection tells: `status` as wait() gives it,
// and what was said on its standard error.
Failure unreachable(const LaunchPlan& plan, const LaunchHost& host, int status, const std::string& said);

// Commands as a person would type them: for --dry-run.
std::string describe_plan(const LaunchPlan& plan);

// One word for a POSIX shell, whatever is in it.
std::string shell_word(const std::string& text);
std::string shell_line(const std::vector<std::string>& words);

// Keys for the processes of one run: made by who launches it, brought to each host over the connection to it,
// never written to a disk anywhere, and worth nothing once the run is over.

// A key pair for each process, and with it the public keys of those that it has to know. From then on this
// process's memory is closed to core files and to others.
void give_keys(LaunchPlan& plan);

// Options and descriptor with which a process finds its keys: as an argument of ours, in the environment of a
// user's program.
std::string place_of_keys(int descriptor);

}  // namespace steelyard
