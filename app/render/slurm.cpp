#include "app/render/slurm.h"

#include <algorithm>

#include "app/config/job_keys.h"
#include "app/config/reach.h"  // shell_line

namespace steelyard {
namespace {

std::string line(const std::string& option) { return "#SBATCH --" + option + "\n"; }

// What one group of nodes is asked for. Each node gets a worker for each GPU, or else for each task. Slurm
// writes units with one letter: 8G is 8Gi.
std::string group_lines(const HostSpec& host, const SlurmOptions& options) {
  const MachineRequest& machines = host.machines;
  const auto workers = static_cast<std::uint32_t>(host.workers.size());
  std::string text = "# " + host.name + "\n";
  if (!machines.partition.empty()) text += line("partition=" + machines.partition);
  text += line("nodes=" + std::to_string(machines.count)) +
          line("ntasks=" + std::to_string(machines.count * workers)) +
          line("ntasks-per-node=" + std::to_string(workers));
  if (machines.cpus > 0)
    text += line("cpus-per-task=" + std::to_string(std::max(1U, machines.cpus / workers)));
  if (!machines.memory.empty()) text += line("mem=" + machines.memory.substr(0, machines.memory.size() - 1));
  if (machines.gpus > 0) text += line("gpus-per-node=" + std::to_string(machines.gpus));
  for (const std::string& option : options.sbatch) text += "#SBATCH " + option + "\n";
  return text;
}

// Scheduler and servers run on nodes with workers, the scheduler on the first of them.
std::vector<HostSpec> groups_of(std::vector<HostSpec> hosts) {
  std::erase_if(hosts, [](const HostSpec& host) { return host.workers.empty(); });
  std::ranges::stable_partition(hosts, [](const HostSpec& host) { return host.scheduler; });
  return hosts;
}

std::string launch_line(const RenderedJob& job) {
  std::vector<std::string> words{job.hosts.scheduler().steelyard, "launch", "--hosts", "slurm"};
  if (words[0].empty()) words[0] = "steelyard";
  for (const std::string& setting : job.settings) words.insert(words.end(), {"--set", setting});
  const std::string servers = job.hosted ? on_workers : std::to_string(servers_in(job.hosts));
  words.insert(words.end(), {"--set", "cluster.servers=" + servers});
  std::string text = shell_line(words) + " --run-dir \"$run\" \"${again[@]}\" ";
  words = {job.file};
  words.insert(words.end(), job.arguments.begin(), job.arguments.end());
  return text + shell_line(words);
}

// Both signals reach the launcher, which saves and stops the job. USR1 comes before the time limit.
constexpr const char* before = R"(
# The same directory each time the job is started: it resumes there.
run=runs/)";
constexpr const char* middle = R"(-$SLURM_JOB_ID
again=()
if compgen -G "$run/checkpoints/*/MANIFEST.json" >/dev/null; then
  again=(--resume)
  rm -f "$run/result.json"
elif [ -e "$run" ]; then # ended before the first checkpoint: begins again
  mv "$run" "$run-begun-${SLURM_RESTART_COUNT:-0}"
fi

)";
constexpr const char* after = R"( &
launcher=$!
trap 'kill -TERM $launcher' TERM USR1
until wait $launcher; code=$?; ! kill -0 $launcher 2>/dev/null; do :; done

# The verdict: the exit code may be that of a task that was killed and restarted.
verdict=$(sed -n 's/.*"exit_code": *\([0-9]*\).*/\1/p' "$run/result.json" 2>/dev/null | head -n 1)
code=${verdict:-$code}
echo "steelyard: code $code"
# 75: stopped, and can go on. Slurm itself does not put a job back into the queue that ends within the
# GraceTime of a preemption, or before its time limit. A job that its user cancels is running no more.
if [ "$code" -eq 75 ] && scontrol show job "$SLURM_JOB_ID" | grep -q JobState=RUNNING; then
  scontrol requeue "$SLURM_JOB_ID" && exit 0
fi
exit "$code"
)";

}  // namespace

std::string sbatch_text(const RenderedJob& job, const SlurmOptions& options) {
  std::string text = "#!/bin/bash\n# A batch script for Slurm, rendered by\n#   " + job.origin + "\n" +
                     line("job-name=" + job.name) + line("output=" + job.name + "-%j.log") +
                     line("open-mode=append") + line("requeue") +
                     line("signal=B:USR1@" + std::to_string(job.grace_s));
  std::string groups;
  for (const HostSpec& host : groups_of(job.hosts.hosts))
    groups += (groups.empty() ? "" : "#SBATCH hetjob\n") + group_lines(host, options);
  return text + groups + before + job.name + middle + launch_line(job) + after;
}

}  // namespace steelyard
