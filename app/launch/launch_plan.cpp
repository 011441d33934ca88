#include "app/launch/launch_plan.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "app/config/prepare_job.h"
#include "app/launch/process_options.h"
#include "app/launch/user_script.h"
#include "app/processes/endpoint.h"
#include "core/device_name.h"
#include "core/text.h"
#include "transport/address.h"
#include "transport/security/key_files.h"
#include "worker/compute/thread_count.h"

namespace steelyard {
namespace {

constexpr const char* job_input = "/dev/stdin";  // the scheduler reads the job there, on any host

// The cores that other workers on this host need and that do not compute. A worker with "auto" may find no
// GPU, but needs a core anyway.
unsigned cores_beside(const HostSpec& host, const HostWorker& worker) {
  unsigned cores = 0;
  for (const HostWorker& other : host.workers) {
    const std::optional<Device> device = device_in(other.spec.device);
    if (&other == &worker || device == Device{}) continue;
    cores += device && device->type == Device::Type::cuda ? cores_of_gpu_worker : 1;
  }
  return cores;
}

// "I/N": the worker is the I-th of N workers of this host that choose their device themselves.
std::string place_among_automatic(const HostSpec& host, const HostWorker& worker) {
  const auto automatic = [](const HostWorker& it) { return it.spec.device == automatic_device; };
  const auto here = host.workers.begin() + (&worker - host.workers.data());
  return std::to_string(std::count_if(host.workers.begin(), here, automatic)) + "/" +
         std::to_string(std::ranges::count_if(host.workers, automatic));
}

// Builds the command of each process.
class RolesOfCluster {
 public:
  RolesOfCluster(const LaunchOptions& options, const HostsFile& hosts, const std::string& sockets)
      : options_(options), sockets_(sockets) {
    const HostSpec& host = hosts.scheduler();
    scheduler_ = endpoint("scheduler", host.address, std::to_string(host.port));
    if (options.trace) trace_ = options.results.directory + "/trace";
  }

  [[nodiscard]] LaunchProcess scheduler(const HostSpec& host, const JobFile& job) const {
    SchedulerOptions it;
    it.listen = endpoint("scheduler", host.listen, std::to_string(host.port));
    it.results = options_.results;
    it.trace = trace_;
    it.quiet = options_.quiet;
    it.insecure = options_.insecure;
    std::vector<std::string> command{"scheduler", job_input};
    if (options_.script) {  // --set also takes precedence over the script; its workers are in the job already
      for (const std::string& setting : options_.overrides)
        if (!setting.starts_with("worker.")) command.insert(command.end(), {"--set", setting});
    }
    return {"scheduler", host.name, Role::scheduler, words(std::move(command), it), job.resolved};
  }
  [[nodiscard]] LaunchProcess server(const HostSpec& host, const std::string& name,
                                     std::uint32_t replicas) const {
    ServerOptions it;
    it.scheduler = scheduler_;
    it.name = name;
    it.shards = host.shards;
    it.mirrors = host.shards * replicas;
    it.listen = endpoint(name, host.listen, "*");
    if (!here()) it.advertise = host.address;
    it.exchange = options_.exchange;
    it.trace = trace_;
    it.quiet = !here();  // on other hosts its output is shown on the terminal
    it.insecure = options_.insecure;
    return {name, host.name, Role::shard, words({"server"}, it), ""};
  }
  // `shards`: how many it hosts; `server`: its number among the servers, if any.
  [[nodiscard]] LaunchProcess worker(const HostSpec& host, const HostWorker& worker, std::uint32_t shards,
                                     std::uint32_t server) const {
    if (options_.script) return script(host, worker);
    WorkerOptions it;
    it.scheduler = scheduler_;
    it.spec = worker.spec;
    it.spec.threads = thread_count_beside(worker.spec.threads, cores_beside(host, worker));
    it.data_options = worker.data_options;
    it.exchange = options_.exchange;
    it.trace = trace_;
    it.quiet = !here();
    if (shards > 0) {
      it.shards = shards;
      it.listen = endpoint("server-" + std::to_string(server), host.listen, "*");
      if (!here()) it.advertise = host.address;
      it.insecure = options_.insecure;
    }
    LaunchProcess process{it.spec.name, host.name, Role::worker, words({"worker"}, it), ""};
    process.hosts_shards = shards > 0;
    return process;
  }

 private:
  [[nodiscard]] bool here() const { return !sockets_.empty(); }
  [[nodiscard]] LaunchProcess script(const HostSpec& host, const HostWorker& worker) const {
    std::vector<std::string> command = command_of(*options_.script);
    LaunchProcess it{worker.spec.name, host.name, Role::worker, {command.begin() + 1, command.end()}, ""};
    it.program = command.front();
    it.environment = environment_of(worker, scheduler_, options_.exchange);
    if (worker.spec.device == automatic_device)
      it.environment.push_back("STEELYARD_LOCAL_WORKER=" + place_among_automatic(host, worker));
    if (!trace_.empty()) it.environment.push_back("STEELYARD_TRACE=" + trace_);
    it.sharing = static_cast<unsigned>(host.workers.size());
    return it;
  }
  [[nodiscard]] std::string endpoint(const std::string& name, const std::string& host,
                                     const std::string& port) const {
    return here() ? "ipc://" + sockets_ + "/" + name : with_port(host, port);
  }
  static std::vector<std::string> words(std::vector<std::string> command, const auto& options) {
    std::ranges::move(arguments_of(options), std::back_inserter(command));
    return command;
  }

  const LaunchOptions& options_;
  const std::string& sockets_;
  std::string scheduler_;
  std::string trace_;  // directory; empty: none
};

// A process has a key pair for each of its roles.
std::vector<KeyRole> key_roles_of(const LaunchProcess& process) {
  if (process.role == Role::scheduler) return {KeyRole::scheduler};
  if (process.role == Role::shard) return {KeyRole::server};
  if (process.hosts_shards) return {KeyRole::worker, KeyRole::server};
  return {KeyRole::worker};
}

// A worker needs only the scheduler's key in advance: the scheduler sends it the keys of the servers.
bool admits_others(const LaunchProcess& process) {
  return process.role != Role::worker || process.hosts_shards;
}

// Which settings of --set the hosts give in place of the job.
void check_overrides(const LaunchOptions& options, const HostsFile& hosts) {
  for (const std::string& argument : options.overrides) {
    const bool workers = argument.starts_with("worker.");
    const bool servers = hosts.shards() > 0 && (argument.starts_with("cluster.servers=") ||
                                                argument.starts_with("cluster.shards_per_server="));
    if (options.slurm && workers)
      refuse_usage(
          "--set " + argument +
          ": with --hosts slurm, names and settings of the workers follow from the allocation: leave it out, "
          "or give a hosts file (steelyard help hosts)");
    if (!options.slurm && (workers || servers)) {
      refuse_usage("--set " + argument + ": the " + (workers ? "workers" : "servers") + " are those of " +
                   options.hosts_file.value_or("the hosts") + ": change them there");
    }
  }
}

}  // namespace

std::size_t LaunchPlan::workers() const {
  return static_cast<std::size_t>(std::ranges::count(processes, Role::worker, &LaunchProcess::role));
}

bool LaunchPlan::leads() const {
  return std::ranges::find(processes, Role::scheduler, &LaunchProcess::role) != processes.end();
}

std::string LaunchPlan::roles_on(const std::string& host) const {
  std::string text;
  for (const LaunchProcess& it : processes) {
    if (it.host == host) text += (text.empty() ? "" : ", ") + it.name;
  }
  return text;
}

JobFile job_for_hosts(const LaunchOptions& options, const HostsFile& hosts) {
  check_overrides(options, hosts);
  ClusterSpec cluster{hosts.shards(), {}};
  for (const HostSpec& host : hosts.hosts) {
    for (const HostWorker& worker : host.workers) cluster.workers.push_back(worker.spec);
  }
  JobFile job = options.script ? job_for_script(options, &cluster)
                               : read_job_file(options.job_file, options.overrides, &cluster);
  if (!options.slurm && cluster.servers == 0 && job.shards_per_worker == 0) {
    refuse_setup(options.hosts_file.value_or("the hosts") +
                 ": no host has a server: add servers = 1 to one of them" +
                 (options.script ? ""
                                 : ", or let GPU workers keep the model: servers = \"workers\" in "
                                   "[cluster] of the job"));
  }
  return job;
}

HostsFile this_machine(const JobFile& job, bool with_workers) {
  HostSpec host;
  host.name = "here";
  host.address = host.listen = "127.0.0.1";
  host.scheduler = true;
  host.servers = job.shards_per_worker > 0 ? 0 : job.servers;
  host.shards = job.job.shards / job.servers;
  if (with_workers) {
    for (const WorkerSpec& worker : job.worker_specs) host.workers.push_back({worker, {}});
  }
  return {.hosts = {host}};
}

LaunchPlan make_launch_plan(const LaunchOptions& options, const HostsFile& hosts, const JobFile& job,
                            const std::string& self, const std::string& sockets) {
  LaunchPlan plan;
  plan.here = !sockets.empty();
  plan.keyed = !plan.here && !options.insecure;
  const RolesOfCluster roles(options, hosts, sockets);
  std::uint32_t servers = 0;
  for (const HostSpec& host : hosts.hosts) {
    plan.hosts.push_back(reached(host, self, attend_on(host)));
    if (host.scheduler) plan.processes.push_back(roles.scheduler(host, job));
    for (std::uint32_t i = 0; i < host.servers; ++i)
      plan.processes.push_back(roles.server(host, "server-" + std::to_string(servers++), job.job.replicas));
    const std::vector<CorePart> parts = options.script ? core_parts_of_scripts(host) : core_parts(host);
    for (std::size_t i = 0; i < host.workers.size(); ++i) {
      const HostWorker& worker = host.workers[i];
      const std::uint32_t shards = can_host_shards(worker.spec.device) ? job.shards_per_worker : 0;
      plan.processes.push_back(roles.worker(host, worker, shards, shards > 0 ? servers++ : 0));
      if (job.bind_workers) plan.processes.back().cores = parts[i];
    }
  }
  if (job.job.replicas > 0 && servers < 2) {
    throw Failure(
        ExitCode::usage,
        "cluster.replicas = 1: a mirror must be in another server process than its shard, and the hosts file "
        "has only one: give another host servers = 1, or this one servers = 2");
  }
  std::ranges::stable_sort(plan.processes, {}, &LaunchProcess::role);
  return plan;
}

FurtherRuns further_runs(const LaunchOptions& options, const std::string& name, const std::string& sockets) {
  FurtherRuns it{sockets, name, options.results.directory, options.results.resume, {}};
  for (const std::string& setting : options.overrides)
    it.arguments.insert(it.arguments.end(), {"--set", setting});
  it.arguments.insert(it.arguments.end(), {"--exchange", options.exchange});
  if (!options.results.web.empty()) it.arguments.insert(it.arguments.end(), {"--web", options.results.web});
  if (options.results.tensorboard) it.arguments.emplace_back("--tensorboard");
  it.arguments.insert(it.arguments.end(), {"--rotate-mb", number_text(options.results.rotate_mb)});
  if (options.quiet) it.arguments.emplace_back("--quiet");
  return it;
}

std::string describe_plan(const LaunchPlan& plan) {
  std::string text;
  for (const LaunchHost& host : plan.hosts) {
    const HostSpec& spec = host.spec;
    text += "# host " + spec.name + ": " + host.reach.title + ", others reach it at " + spec.address + "\n";
    text += shell_line(host.command) + "\n# which starts there" +
            (plan.keyed ? ", with keys sent over this connection:\n" : ":\n");
    for (const LaunchProcess& process : plan.processes) {
      if (process.host != spec.name) continue;
      std::vector<std::string> words{host.program};
      if (process.is_script()) {
        words = {"env"};
        words.insert(words.end(), process.environment.begin(), process.environment.end());
        words.push_back(process.program);
      }
      words.insert(words.end(), process.arguments.begin(), process.arguments.end());
      text += "  " + shell_line(words) + (process.input.empty() ? "" : "  # reads the job") + "\n";
    }
  }
  return text;
}

void give_keys(LaunchPlan& plan) {
  keep_memory_closed(false);
  AllowList all, schedulers;
  for (LaunchProcess& process : plan.processes) {
    process.keys.clear();
    for (const KeyRole role : key_roles_of(process)) {
      const KeyPair pair = make_key(role, process.name);
      all.emplace(pair.public_key, Allowed{role, pair.name});
      if (role == KeyRole::scheduler) schedulers.emplace(pair.public_key, Allowed{role, pair.name});
      process.keys += secret_line(pair);
    }
  }
  for (LaunchProcess& process : plan.processes)
    process.keys += allow_lines(admits_others(process) ? all : schedulers);
}

void give_keys(LaunchPlan& plan, const std::string& directory) {
  keep_memory_closed(false);
  AllowList all, schedulers;
  std::map<KeyRole, KeyPair> pairs;
  for (const KeyRole role : {KeyRole::scheduler, KeyRole::server, KeyRole::worker}) {
    const std::string file = directory + "/" + name(role) + ".key";
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(file, ignored)) {
      refuse_setup("there is no " + file + ": create it with `steelyard keys new " + directory + " " +
                   name(role) + "`");
    }
    const KeyPair& pair = pairs.emplace(role, load_keys(file, role, "").own).first->second;
    all.emplace(pair.public_key, Allowed{role, pair.name});
    if (role == KeyRole::scheduler) schedulers.emplace(pair.public_key, Allowed{role, pair.name});
  }
  for (LaunchProcess& process : plan.processes) {
    process.keys.clear();
    for (const KeyRole role : key_roles_of(process)) process.keys += secret_line(pairs.at(role));
    process.keys += allow_lines(admits_others(process) ? all : schedulers);
  }
}

std::string place_of_keys(int descriptor) { return "/proc/self/fd/" + std::to_string(descriptor); }

}  // namespace steelyard
