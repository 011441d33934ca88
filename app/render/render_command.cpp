#include "app/render/render_command.h"

#include <algorithm>

#include "app/config/reach.h"  // shell_line
#include "app/launch/user_script.h"
#include "app/render/kubernetes.h"
#include "app/render/slurm.h"
#include "app/report/output_file.h"
#include "core/error.h"

namespace steelyard {
namespace {

// The command, for the comment at the top of the file. The output is left out: the file may be moved.
std::string origin_of(const RenderCommand& command) {
  const RenderCommand plain;
  std::vector<std::string> words{"steelyard", "render", command.form};
  const auto add = [&](const std::string& option, const std::string& value, const std::string& otherwise) {
    if (value != otherwise) words.push_back(option + "=" + value);
  };
  for (const std::string& setting : command.overrides) add("--set", setting, "");
  for (const std::string& option : command.sbatch) add("--sbatch", option, "");
  add("--name", command.name, plain.name);
  add("--grace", std::to_string(command.grace_s), std::to_string(plain.grace_s));
  add("--storage", command.storage, plain.storage);
  words.insert(words.end(), {command.hosts_file, command.job_file});
  words.insert(words.end(), command.script.arguments.begin(), command.script.arguments.end());
  return shell_line(words);
}

// Each machine by itself. Workers have the names that they will have, worker-0, worker-1, ...
HostsFile one_by_one(const HostsFile& hosts) {
  HostsFile all;
  std::size_t workers = 0;
  for (const HostSpec& host : hosts.hosts) {
    for (std::uint32_t i = 0; i < host.machines.count; ++i) {
      HostSpec& one = all.hosts.emplace_back(host);
      for (HostWorker& worker : one.workers) worker.spec.name = "worker-" + std::to_string(workers++);
    }
  }
  return all;
}

// Checks the job as `launch` would, so that its errors are found here and not in the queue.
JobFile job_of(const RenderCommand& command, const HostsFile& hosts) {
  LaunchOptions options;
  options.hosts_file = command.hosts_file;
  options.job_file = command.job_file;
  options.overrides = command.overrides;
  if (is_script(command.job_file)) (options.script = command.script)->path = command.job_file;
  return job_for_hosts(options, one_by_one(hosts));
}

// A name that all objects can have, derived from the job's.
std::string name_of(const RenderCommand& command, const JobFile& job) {
  std::string name = command.name;
  if (name.empty()) {
    name = job.job.name;
    std::ranges::transform(name, name.begin(), [](char c) {
      return 'A' <= c && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c == '_' || c == '.' ? '-' : c;
    });
  }
  if (!is_dns_label(name, longest_job_label))
    refuse_usage((command.name.empty() ? command.job_file + ": the job's name \"" : "--name \"") + name +
                 "\" cannot name objects: give --name with at most " + std::to_string(longest_job_label) +
                 " lower-case letters, digits and '-', beginning with a letter");
  return name;
}

}  // namespace

std::string rendered(const RenderCommand& command) {
  if (!is_memory_size(command.storage))
    refuse_usage("--storage " + command.storage + ": give a whole number of Mi, Gi or Ti, as in 10Gi");
  const bool slurm = command.form == "slurm";
  RenderedJob job;
  job.hosts = read_hosts_file(command.hosts_file, slurm ? HostsUse::slurm : HostsUse::kubernetes);
  std::ranges::stable_partition(job.hosts.hosts, [](const HostSpec& host) { return !host.workers.empty(); });
  const JobFile file = job_of(command, job.hosts);
  job.name = name_of(command, file);
  job.origin = origin_of(command);
  job.file = command.job_file;
  if (!is_script(command.job_file)) job.text = file.resolved;
  job.hosted = file.shards_per_worker > 0;
  job.settings = command.overrides;
  job.arguments = command.script.arguments;
  job.grace_s = command.grace_s;
  if (slurm) return sbatch_text(job, {command.sbatch});
  return command.form == "jobset" ? jobset_text(job, {command.storage})
                                  : training_runtime_text(job, {command.storage});
}

void run_render(const RenderCommand& command) {
  check_output("--output", command.output);
  write_output("--output", command.output, rendered(command));
}

}  // namespace steelyard
