#include "app/member/member_plan.h"

#include <algorithm>
#include <filesystem>

#include "app/config/prepare_job.h"
#include "app/launch/user_script.h"
#include "core/device_name.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr double to_kill = 6;  // seconds: Cluster waits five of them for processes to exit

std::string name_of(std::uint32_t task) { return "task-" + std::to_string(task); }

std::uint32_t workers_of(const MemberOptions& options, const Task& task) {
  return options.workers > 0 ? options.workers : task.size;
}

// The described workers first; a further one has the first free of the usual names.
std::vector<WorkerSpec> specs_for(std::vector<WorkerSpec> specs, std::size_t count) {
  for (std::size_t number = specs.size(); specs.size() < count; ++number) {
    WorkerSpec usual;
    usual.name = "worker-" + std::to_string(number);
    if (std::ranges::find(specs, usual.name, &WorkerSpec::name) == specs.end()) specs.push_back(usual);
  }
  specs.resize(count);
  return specs;
}

JobFile job_with_workers(const MemberOptions& options, std::uint32_t workers) {
  LaunchOptions launch = options.launch;
  if (launch.script) {
    launch.script->workers = workers;
    return job_for_script(launch);
  }
  JobFile job = read_job_file(launch.job_file, launch.overrides);
  if (job.worker_specs.size() == workers) return job;
  std::vector<std::string> others = launch.overrides;  // --set of workers is in their descriptions
  std::erase_if(others, [](const std::string& it) { return it.starts_with("worker."); });
  const bool hosted = job.shards_per_worker > 0;
  const ClusterSpec cluster{hosted ? 0 : job.job.shards, specs_for(job.worker_specs, workers)};
  const std::uint32_t servers = job.servers;
  job = read_job_file(launch.job_file, others, &cluster);
  if (!hosted) job.servers = servers;
  return job;
}

// The worker of this task. In unequal groups any tasks may have workers: they are named after the tasks.
WorkerSpec worker_of(const MemberOptions& options, const Task& task, const JobFile& job) {
  if (options.roles.empty()) return job.worker_specs[task.rank];
  WorkerSpec usual;
  usual.name = "worker-" + std::to_string(task.rank);
  if (options.launch.script) usual.device = automatic_device;
  const auto described = std::ranges::find(job.worker_specs, usual.name, &WorkerSpec::name);
  if (described != job.worker_specs.end()) return *described;
  if (job.shards_per_worker > 0)
    refuse_setup("servers = \"workers\" in [cluster]: the job has no worker \"" + usual.name +
                 "\", which is that of this task: give each task with --role worker a [[worker]] named after "
                 "its number, or give a number of servers");
  return usual;
}

// All tasks, since servers are numbered through. Of other tasks only the place of the scheduler is known.
HostsFile hosts_of(const MemberOptions& options, const Task& task, const JobOfTasks& job,
                   const Meeting::Place& place, const std::string& listen) {
  const TaskRoles roles = roles_of(task, job.servers, options.roles);
  HostsFile hosts;
  for (std::uint32_t i = 0; i < task.size; ++i) {
    HostSpec& host = hosts.hosts.emplace_back();
    host.name = name_of(i);
    host.listen = listen;
    host.shards = job.shards;
    host.servers = options.roles.empty() ? roles_of({i, task.size}, job.servers, {}).servers : 1;
  }
  HostSpec& own = hosts.hosts[task.rank];
  own.servers = roles.servers;
  own.address = options.address;
  if (roles.worker) own.workers.push_back({worker_of(options, task, job.job), {}});
  if (!roles.scheduler) hosts.hosts.emplace_back().name = "elsewhere";
  HostSpec& leader = roles.scheduler ? hosts.hosts[task.rank] : hosts.hosts.back();
  leader.scheduler = true;
  leader.address = place.host;
  leader.listen = listen;
  leader.port = number_in<std::uint32_t>(place.port).value_or(0);
  return hosts;
}

}  // namespace

TaskRoles roles_of(const Task& task, std::uint32_t servers, const std::vector<std::string>& given) {
  TaskRoles roles;
  if (given.empty()) {
    roles.scheduler = task.rank == 0;
    roles.worker = true;
    roles.servers = (servers + task.size - 1 - task.rank) / task.size;
    return roles;
  }
  for (const std::string& role : given) {
    roles.scheduler |= role == "scheduler";
    roles.worker |= role == "worker";
    if (role == "server") roles.servers = 1;
    if (role != "scheduler" && role != "server" && role != "worker")
      refuse_usage("--role " + role + ": give scheduler, server or worker");
  }
  return roles;
}

JobOfTasks job_of_tasks(const MemberOptions& options, const Task& task) {
  JobOfTasks all{job_with_workers(options, workers_of(options, task))};
  if (all.job.shards_per_worker > 0) {
    if (std::ranges::find(options.roles, "server") != options.roles.end())
      refuse_usage(
          "--role server: the job has servers = \"workers\" in [cluster], so its GPU workers are the "
          "servers: "
          "leave it out, or give a number of servers");
    all.servers = 0;
    return all;
  }
  all.servers = all.job.servers;
  all.shards = all.job.job.shards / all.servers;
  if (all.job.job.replicas > 0 && options.roles.empty() && task.size < all.servers)
    refuse_setup("cluster.replicas = 1 with cluster.servers = " + std::to_string(all.servers) + " in " +
                 std::to_string(task.size) +
                 " tasks: a mirror must be in another task than its shard: start at least as many tasks as "
                 "servers");
  return all;
}

bool has_shards(const MemberOptions& options, const Task& task, const JobOfTasks& job) {
  const TaskRoles roles = roles_of(task, job.servers, options.roles);
  const bool may_host = roles.worker && job.job.shards_per_worker > 0;
  return roles.servers > 0 || (may_host && can_host_shards(worker_of(options, task, job.job).device));
}

LaunchPlan plan_of_task(const MemberOptions& options, const Task& task, const JobOfTasks& job,
                        const Meeting::Place& place, const std::string& listen) {
  const HostsFile hosts = hosts_of(options, task, job, place, listen);
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  LaunchPlan plan = make_launch_plan(options.launch, hosts, job.job, self);
  const std::string own = name_of(task.rank);
  std::erase_if(plan.hosts, [&](const LaunchHost& it) { return it.spec.name != own; });
  std::erase_if(plan.processes, [&](const LaunchProcess& it) { return it.host != own; });
  for (LaunchProcess& process : plan.processes) {
    if (process.role != Role::scheduler && !process.is_script())
      process.arguments.insert(process.arguments.end(), {"--wait", number_text(options.wait)});
  }
  plan.here = true;
  plan.keyed = false;
  plan.tasks = task.size;
  plan.grace = time_to_end(options.grace);
  return plan;
}

Duration time_to_end(double grace) { return from_seconds(std::max(grace - to_kill, grace / 2)); }

}  // namespace steelyard
