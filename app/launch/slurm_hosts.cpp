#include "app/launch/slurm_hosts.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "app/config/reach.h"
#include "app/launch/children.h"
#include "app/launch/pipes.h"
#include "core/error.h"
#include "core/text.h"
#include "transport/address.h"

namespace steelyard {
namespace {

constexpr const char* option = "--hosts slurm";
constexpr std::uint32_t first_port = 10000,
                        ports = 20000;  // below those that the kernel gives to connections
constexpr Duration longest_answer = std::chrono::seconds(60);  // of scontrol

// Variables of one group of a heterogeneous job have a suffix; a job without groups is one group without it.
struct Group {
  std::string suffix;
  std::vector<std::string> step;  // the option of srun for the group
};

std::uint32_t number_of(const std::string& text, std::uint32_t otherwise) {
  return number_in<std::uint32_t>(text).value_or(otherwise);
}

std::vector<Group> groups_of(const Allocation& allocation) {
  for (const std::string kind : {"het", "pack"}) {  // its name before Slurm 20.02
    const std::string upper = kind == "het" ? "HET" : "PACK";
    const std::uint32_t count = number_of(allocation.variable("SLURM_" + upper + "_SIZE"), 0);
    std::vector<Group> groups;
    for (std::uint32_t i = 0; i < count; ++i)
      groups.push_back(
          {"_" + upper + "_GROUP_" + std::to_string(i), {"--" + kind + "-group=" + std::to_string(i)}});
    if (count > 0) return groups;
  }
  return {{"", {}}};
}

// "2(x3),1" is 2, 2, 2, 1.
std::vector<std::uint32_t> counts_of(const std::string& text) {
  std::vector<std::uint32_t> counts;
  std::istringstream parts(text);
  for (std::string part; std::getline(parts, part, ',');) {
    const std::size_t times = part.find("(x");
    const std::uint32_t count = number_of(part.substr(0, times), 1);
    const std::uint32_t nodes =
        times == std::string::npos ? 1 : number_of(part.substr(times + 2, part.size() - times - 3), 1);
    counts.insert(counts.end(), nodes, count);
  }
  return counts;
}

// The value of "NodeAddr=" in a line of `scontrol -o show node`.
std::string field(const std::string& line, const std::string& name) {
  std::istringstream words(line);
  for (std::string word; words >> word;)
    if (word.starts_with(name + "=")) return word.substr(name.size() + 1);
  return "";
}

// The workers of a node with this many tasks; 0: no number was requested.
std::vector<WorkerSpec> workers_of(const Allocation& allocation, const std::string& suffix,
                                   std::uint32_t tasks) {
  const auto variable = [&](const std::string& name) { return allocation.variable(name + suffix); };
  std::string gpus = variable("SLURM_GPUS_PER_NODE");  // "4", or "a100:4"
  gpus = gpus.substr(gpus.rfind(':') + 1);
  const std::uint32_t cards = number_of(gpus, 0);
  std::vector<WorkerSpec> workers(std::max({cards > 0 ? cards : tasks, 1U}));
  const std::string cpus = variable("SLURM_CPUS_PER_TASK");
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (cards > 0) {
      workers[i].device = "cuda:" + std::to_string(i);
    } else if (!cpus.empty() && tasks > 0) {
      workers[i].threads = cpus;
    } else if (tasks == 0) {
      workers[i].threads = "auto";
    }
  }
  return workers;
}

HostSpec host_of(const std::string& node, const std::string& address, const Group& group) {
  HostSpec host;
  host.name = node;
  host.address = address;
  host.listen = is_ipv4(address) || is_ipv6(address) ? address : "0.0.0.0";
  // The step may use all processors of the job on this node, and has the launcher's environment.
  host.through = {"srun",      "--nodes=1",       "--ntasks=1",   "--nodelist=" + node,
                  "--overlap", "--cpu-bind=none", "--export=ALL", "--mpi=none"};
  host.through.insert(host.through.begin() + 1, group.step.begin(), group.step.end());
  host.shared_files = true;
  host.place = option;
  return host;
}

void add_group(HostsFile& file, const Allocation& allocation, const Group& group) {
  const std::string list = allocation.variable("SLURM_JOB_NODELIST" + group.suffix);
  if (list.empty()) {
    refuse_setup(
        std::string(option) + ": SLURM_JOB_NODELIST" + group.suffix +
        " is not set, so this is no allocation of Slurm: start it in a script of sbatch or in a shell of "
        "salloc, or give a hosts file");
  }
  std::vector<std::uint32_t> tasks;
  if (!allocation.variable("SLURM_NTASKS" + group.suffix).empty())
    tasks = counts_of(allocation.variable("SLURM_TASKS_PER_NODE" + group.suffix));
  std::istringstream lines(allocation.show_nodes(list));
  std::size_t i = 0, workers = 0;
  for (const HostSpec& host : file.hosts) workers += host.workers.size();
  for (std::string line; std::getline(lines, line);) {
    const std::string node = field(line, "NodeName"), address = field(line, "NodeAddr");
    if (node.empty() || address.empty()) continue;
    HostSpec host = host_of(node, address, group);
    const bool twice = std::ranges::find(file.hosts, node, &HostSpec::name) != file.hosts.end();
    if (twice) host.name += group.suffix;  // a node of two groups
    for (WorkerSpec& worker : workers_of(allocation, group.suffix, i < tasks.size() ? tasks[i] : 0)) {
      worker.name = "worker-" + std::to_string(workers++);
      host.workers.push_back({std::move(worker), {}});
    }
    ++i;
    file.hosts.push_back(std::move(host));
  }
  if (i == 0) {
    refuse_setup(std::string(option) + ": `scontrol -o show node " + list +
                 "` shows no node: check that it works here");
  }
}

std::string output_of(const std::vector<std::string>& words) {
  Pipe out = make_pipe();
  Children children;
  children.start(words.front(), {.path = words.front(),
                                 .arguments = {words.begin() + 1, words.end()},
                                 .out = out.write.get(),
                                 .error = out.write.get()});
  out.write = Descriptor();
  LineReader reader(std::move(out.read), longest_launch_line);
  std::string text;
  std::vector<Child> ended;
  for (const Time end = steady_now() + longest_answer; !reader.ended() || ended.empty();) {
    for (const std::string& line : reader.read()) text += line + "\n";
    if (ended.empty()) ended = children.ended();
    if (steady_now() > end) refuse_setup(shell_line(words) + " does not answer: check that it works here");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (*ended.front().status != 0)
    refuse_setup("`" + shell_line(words) + "` " + describe_status(*ended.front().status) + ": " + text +
                 "check that it works here");
  return text;
}

}  // namespace

Allocation this_allocation() {
  return {[](const std::string& name) -> std::string {
            const char* value = std::getenv(name.c_str());
            return value == nullptr ? "" : value;
          },
          [](const std::string& nodes) {
            return output_of({"scontrol", "-o", "show", "node", nodes});
          }};
}

HostsFile slurm_hosts(const Allocation& allocation) {
  const std::uint32_t copies = number_of(allocation.variable("SLURM_STEP_NUM_TASKS"), 1);
  if (copies > 1) {
    refuse_usage(std::string(option) + ": srun has started this command " + std::to_string(copies) +
                 " times: start it once, without srun");
  }
  HostsFile file;
  for (const Group& group : groups_of(allocation)) add_group(file, allocation, group);
  HostSpec& first = file.hosts.front();
  first.scheduler = true;
  first.port = first_port + number_of(allocation.variable("SLURM_JOB_ID"), 0) % ports;
  return file;
}

void place_servers(HostsFile& hosts, std::uint32_t servers, std::uint32_t shards_per_server) {
  for (HostSpec& host : hosts.hosts) host.shards = shards_per_server;
  for (std::uint32_t i = 0; i < servers; ++i) ++hosts.hosts[i % hosts.hosts.size()].servers;
}

}  // namespace steelyard
