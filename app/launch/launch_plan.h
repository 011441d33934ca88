// The launch plan: which process is started on which host, and by which command. Made from hosts and a job
// before anything runs. Pure. A cluster on this machine alone, as `train` starts
// it, is a plan with one host.
//
// On every other host one `steelyard attend` (app/launch/pipes.h) starts the roles, so that a host needs one
// connection, and all its processes stop when that connection ends.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/config/hosts_file.h"
#include "app/launch/core_part.h"
#include "app/launch/launch_host.h"
#include "app/processes/process_settings.h"
#include "core/error.h"
#include "core/time.h"
#include "protocol/node.h"

namespace steelyard {

// ---- options of the commands that start a whole cluster, on this machine or on many

// A program of the user that is run as the workers, instead of a job file (app/launch/user_script.h).
struct ScriptOptions {
  std::string path;                      // empty: the workers are started separately
  std::vector<std::string> arguments{};  // passed to it
  unsigned workers = 1;                  // on this machine; for `launch` the hosts file lists them
  std::string sockets{};                 // directory for the sockets of a cluster on this machine
};

struct LaunchOptions {
  std::optional<std::string> hosts_file;
  bool slurm = false;  // the hosts are those of the Slurm allocation (app/launch/slurm_hosts.h)
  std::string job_file;
  std::optional<ScriptOptions> script;
  std::vector<std::string> overrides;  // key=value
  ResultOptions results;               // on the scheduler's host
  std::string exchange = exchanges.front();
  bool trace = false;  // write a timeline; on one machine only
  bool quiet = false;
  bool insecure = false;
  bool dry_run = false;
  bool fetch = false;  // bring the results to the run directory here, at the end

  [[nodiscard]] bool is_here() const { return !hosts_file && !slurm; }  // as for `train`: all on this machine
};

struct AttendOptions {
  std::string directory;  // working directory; empty: the current one
  double silence = 300;   // seconds without a message from the launcher until it counts as lost
  double grace = 10;      // seconds for the scheduler to stop the job after that; 0: all are killed at once
};

struct LaunchProcess {
  std::string name;
  std::string host;
  Role role = Role::worker;            // scheduler, or shard for a server
  std::vector<std::string> arguments;  // of the program
  std::string input;                   // its standard input: the job, for the scheduler
  // For a worker that is a script (app/launch/user_script.h); see StartProcess.
  std::string program{};  // empty: this program
  std::vector<std::string> environment{};
  unsigned sharing = 0;
  CorePart cores{};           // that it is bound to
  std::string keys{};         // see StartProcess
  bool hosts_shards = false;  // a worker that is a server, too

  [[nodiscard]] bool is_script() const { return !program.empty(); }
};

// How scripts of `steelyard run` join further jobs (app/launch/further_jobs.h).
struct FurtherRuns {
  std::string sockets;    // directory of the first job's sockets
  std::string name;       // of the first job
  std::string directory;  // --run-dir of the first job; job N gets DIRECTORY-N. Empty: runs/NAME-N
  bool resume = false;    // jobs that were begun in an earlier run continue
  std::vector<std::string> arguments;  // further options of `steelyard run`
};

struct LaunchPlan {
  std::vector<LaunchHost> hosts;
  std::vector<LaunchProcess> processes;  // in the order in which they are started
  bool keyed = false;                    // each process gets keys that are valid for this run
  bool here = false;   // all on this machine: this process starts them, with sockets in a directory
  unsigned tasks = 1;  // of a job that an engine starts, of which this plan is one (app/member/member.h)
  // After the request to end, until the remaining processes are killed; 0: no limit.
  Duration grace{};
  std::string not_joined{};              // the remedy for a script that exits without joining the job
  std::optional<FurtherRuns> further{};  // std::nullopt: scripts may join one job only

  [[nodiscard]] std::string roles_on(const std::string& host) const;  // "scheduler, server-0, ada"
  [[nodiscard]] std::size_t workers() const;
  [[nodiscard]] bool leads() const;  // whether the scheduler is one of the processes
};

// The job with the servers and workers of the hosts; in an allocation the servers are those of the job. If no
// host has a server, its GPU workers must be the servers (servers = "workers" in the job). Throws Failure
// (usage) for a --set of what the hosts file gives, (configuration) as read_job_file() does.
JobFile job_for_hosts(const LaunchOptions& options, const HostsFile& hosts);

// This machine as the only host of a job, with the servers of the job, and with its workers unless they are
// started separately.
HostsFile this_machine(const JobFile& job, bool with_workers = true);

// `self` is the path of this program. `sockets` is the directory of the sockets, for a plan without a hosts
// file. A plan with a hosts file is keyed, unless --insecure was given.
LaunchPlan make_launch_plan(const LaunchOptions& options, const HostsFile& hosts, const JobFile& job,
                            const std::string& self, const std::string& sockets = "");
// For scripts that this process starts on this machine. `options` are those of the user.
FurtherRuns further_runs(const LaunchOptions& options, const std::string& name, const std::string& sockets);

// The commands of a plan, for --dry-run.
std::string describe_plan(const LaunchPlan& plan);

// Keys of one run: made by the launcher, sent to each host over its connection, never written to disk, and
// useless after the run.

// Makes a key pair for each process, and adds the public keys of the processes it connects with. From then on
// this process's memory is excluded from core files and closed to other processes.
void give_keys(LaunchPlan& plan);
// The same with keys that all processes of a role share: ROLE.key in this directory. Files may be reached
// through links, as in a mounted secret. Throws Failure as load_keys().
void give_keys(LaunchPlan& plan, const std::string& directory);

// The path at which a process finds its keys: an argument of this program, an environment variable of a
// user's program.
std::string place_of_keys(int descriptor);

}  // namespace steelyard
