#include "launch/plan.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "config/toml_text.h"
#include "core/check.h"
#include "launch/children.h"
#include "roles/endpoint.h"
#include "wire/transport/address.h"

namespace steelyard {
namespace {

using Kind = LaunchProcess::Kind;

constexpr const char* job_input = "/dev/stdin";  // how the scheduler gets the job, wherever it runs

// What is in the hosts file goes before what is in the job.
std::string workers_text(const HostsFile& hosts) {
  std::string text;
  for (const HostSpec& host : hosts.hosts) {
    for (const HostWorker& worker : host.workers) {
      text += "\n[[worker]]\nname = " + steelyard::quoted(worker.spec.name) +
              "\nslow = " + option_text(worker.spec.slow) + "\ncpu = " + option_text(worker.spec.cpu) +
              "\ndevice = " + steelyard::quoted(worker.spec.device) +
              "\nmax_batch = " + std::to_string(worker.spec.max_batch) + "\n";
    }
  }
  return text;
}

// Anybody may come to a port that leaves its machine; the message has to say whose.
void require_allowed(const HostSpec& host, bool insecure) {
  try {
    require_loopback("tcp://" + with_port(host.listen, "*"), insecure);
  } catch (const Failure& failure) {
    throw Failure(failure.code(), "host '" + host.name + "': " + failure.what());
  }
}

std::vector<std::string> command_for(const HostSpec& host, const std::string& program) {
  std::vector<std::string> there{program, "attend"};
  if (!host.directory.empty()) there.insert(there.end(), {"--directory", host.directory});
  if (!host.netns.empty()) {
    std::vector<std::string> reach{"ip", "netns", "exec", host.netns};
    reach.insert(reach.end(), there.begin(), there.end());
    return reach;
  }
  if (host.ssh.empty()) return there;
  // No terminal, no questions; a connection that is gone is noticed within a minute. The shell there puts the
  // words together again.
  return {"ssh",    "-T",
          "-o",     "BatchMode=yes",
          "-o",     "ConnectTimeout=15",
          "-o",     "ServerAliveInterval=15",
          "-o",     "ServerAliveCountMax=4",
          host.ssh, shell_line(there)};
}

// The arguments of each role; `scheduler` is its endpoint as the others see it.
class Roles {
 public:
  Roles(const LaunchCommand& command, const HostsFile& hosts) : command_(command) {
    const HostSpec& host = hosts.scheduler();
    scheduler_ = with_port(host.address, std::to_string(host.port));
  }

  [[nodiscard]] LaunchProcess scheduler(const HostSpec& host, const JobFile& job,
                                        const ResultPlace& results) const {
    std::vector<std::string> arguments{"scheduler", job_input, "--listen",
                                       with_port(host.listen, std::to_string(host.port))};
    if (!results.path.empty()) arguments.insert(arguments.end(), {"--run-dir", results.path});
    if (results.ready) arguments.emplace_back("--run-dir-ready");
    if (command_.resume) arguments.emplace_back("--resume");
    if (!command_.resume_from.empty())
      arguments.insert(arguments.end(), {"--resume-from", command_.resume_from});
    if (command_.quiet) arguments.emplace_back("--quiet");
    return {"scheduler", host.name, Kind::scheduler, allowed(std::move(arguments)), job.resolved};
  }
  [[nodiscard]] LaunchProcess server(const HostSpec& host, const std::string& name) const {
    return {
        name, host.name, Kind::server,
        allowed({"server", "--scheduler", scheduler_, "--name", name, "--listen", with_port(host.listen, "*"),
                 "--advertise", host.address, "--shards", std::to_string(host.shards), "--quiet"}),
        ""};
  }
  [[nodiscard]] LaunchProcess worker(const HostSpec& host, const HostWorker& worker) const {
    const WorkerSpec& spec = worker.spec;
    std::vector<std::string> arguments{"worker",
                                       "--scheduler",
                                       scheduler_,
                                       "--name",
                                       spec.name,
                                       "--device",
                                       spec.device,
                                       "--slow",
                                       spec.slow,
                                       "--cpu",
                                       spec.cpu,
                                       "--max-batch",
                                       std::to_string(spec.max_batch),
                                       "--quiet"};
    for (const std::string& option : worker.data_options)
      arguments.insert(arguments.end(), {"--data", option});
    return {spec.name, host.name, Kind::worker, std::move(arguments), ""};
  }

 private:
  [[nodiscard]] std::vector<std::string> allowed(std::vector<std::string> arguments) const {
    if (command_.insecure) arguments.emplace_back("--insecure");
    return arguments;
  }

  const LaunchCommand& command_;
  std::string scheduler_;
};

[[noreturn]] void refuse(const LaunchHost& host, const std::string& what) {
  throw Failure(ExitCode::configuration, "host '" + host.spec.name + "': " + what);
}

}  // namespace

const LaunchHost& LaunchPlan::host(const std::string& name) const {
  const auto found = std::ranges::find_if(hosts, [&](const LaunchHost& it) { return it.spec.name == name; });
  CHECK(found != hosts.end(), "a host that is not in the plan");
  return *found;
}

std::string LaunchPlan::roles_on(const std::string& host) const {
  std::string text;
  for (const LaunchProcess& it : processes) {
    if (it.host == host) text += (text.empty() ? "" : ", ") + it.name;
  }
  return text;
}

JobFile job_for_hosts(const LaunchCommand& command, const HostsFile& hosts, const Extensions& extensions) {
  for (const std::string& argument : command.overrides) {
    const bool workers = argument.starts_with("worker.");
    const bool servers =
        argument.starts_with("cluster.servers=") || argument.starts_with("cluster.shards_per_server=");
    if (workers || servers) {
      throw Failure(ExitCode::usage, "--set " + argument + ": the " + (workers ? "workers" : "servers") +
                                         " are those of " + command.hosts_file + ": change them there");
    }
  }
  const std::string resolved = read_job_file(command.job_file, command.overrides, extensions).resolved;
  // Workers stand at the end of a resolved job.
  const std::string shared = resolved.substr(0, resolved.find("\n[[worker]]"));
  return parse_job(shared + workers_text(hosts), command.job_file,
                   {"cluster.servers=" + std::to_string(hosts.shards()), "cluster.shards_per_server=1"},
                   extensions);
}

LaunchPlan make_launch_plan(const LaunchCommand& command, const HostsFile& hosts, const JobFile& job,
                            const ResultPlace& results, const std::string& self) {
  LaunchPlan plan;
  const Roles roles(command, hosts);
  std::vector<LaunchProcess> servers, workers;
  for (const HostSpec& host : hosts.hosts) {
    if (host.scheduler || host.servers > 0) require_allowed(host, command.insecure);
    const std::string program = host.steelyard.empty() ? self : host.steelyard;
    plan.hosts.push_back({host, program, command_for(host, program)});
    if (host.scheduler) plan.processes.push_back(roles.scheduler(host, job, results));
    for (std::uint32_t i = 0; i < host.servers; ++i)
      servers.push_back(roles.server(host, "server-" + std::to_string(servers.size())));
    for (const HostWorker& worker : host.workers) workers.push_back(roles.worker(host, worker));
  }
  for (auto* group : {&servers, &workers}) {
    for (LaunchProcess& process : *group) plan.processes.push_back(std::move(process));
  }
  return plan;
}

void require_reachable(const LaunchHost& host) {
  const HostSpec& spec = host.spec;
  if (!spec.ssh.empty()) return;
  const bool is_path = host.program.find('/') != std::string::npos;
  if (is_path && access(host.program.c_str(), X_OK) != 0) {
    refuse(host, "there is no program " + host.program + ": correct steelyard = in the hosts file");
  }
  std::error_code ignored;
  if (!spec.netns.empty() && !std::filesystem::exists("/run/netns/" + spec.netns, ignored)) {
    refuse(host, "there is no network namespace '" + spec.netns + "': make it with `ip netns add " +
                     spec.netns + "`, or correct netns = in the hosts file (`ip netns` lists them)");
  }
}

Failure unreachable(const LaunchPlan& plan, const LaunchHost& host, int status, const std::string& said) {
  const HostSpec& spec = host.spec;
  const std::string start = "host '" + spec.name + "' (" + plan.roles_on(spec.name) + "): ";
  const std::string heard = said.empty() ? "" : ": " + said;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  const bool over_ssh = !spec.ssh.empty();
  if (code == 127 && (said.empty() || !over_ssh)) {
    const std::string missing = over_ssh ? "ssh" : spec.netns.empty() ? host.program : "ip";
    return {ExitCode::configuration, start + "the program '" + missing + "' cannot be run" + heard +
                                         (over_ssh ? ": install openssh-client" : ": install it")};
  }
  if (code == 126 || code == 127) {
    return {ExitCode::configuration, start + "there is no program '" + host.program + "' at " + spec.ssh +
                                         heard +
                                         ": install Steelyard there, or say where it is with "
                                         "steelyard = in the hosts file"};
  }
  if (code == 255 && over_ssh) {
    return {ExitCode::unreachable, start + "ssh cannot get to " + spec.ssh + heard +
                                       ": make `ssh -o BatchMode=yes " + spec.ssh +
                                       " true` work, without a password"};
  }
  if (code == static_cast<int>(ExitCode::usage)) {
    return {ExitCode::protocol, start + "the program '" + host.program + "' there does not know `attend`" +
                                    heard + ": install the same release everywhere"};
  }
  const std::string remedy = spec.netns.empty() ? "" : "; namespaces need root";
  return {code > 0 && over_ssh ? static_cast<ExitCode>(code) : ExitCode::configuration,
          start + "`" + shell_line(host.reach) + "` " + describe_status(status) + heard + remedy};
}

std::string describe_plan(const LaunchPlan& plan) {
  std::string text;
  for (const LaunchHost& host : plan.hosts) {
    const HostSpec& spec = host.spec;
    const std::string how = !spec.ssh.empty()     ? "ssh " + spec.ssh
                            : !spec.netns.empty() ? "network namespace " + spec.netns
                                                  : "this machine";
    text += "# host " + spec.name + ": " + how + ", others reach it at " + spec.address + "\n";
    text += shell_line(host.reach) + "\n# which starts there:\n";
    for (const LaunchProcess& process : plan.processes) {
      if (process.host != spec.name) continue;
      std::vector<std::string> words{host.program};
      words.insert(words.end(), process.arguments.begin(), process.arguments.end());
      text += "  " + shell_line(words) + (process.input.empty() ? "" : "  # reads the job") + "\n";
    }
  }
  return text;
}

std::string shell_word(const std::string& text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("@%+=:,./_-").find(c) != std::string_view::npos;
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return text;
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

std::string shell_line(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
  return line;
}

}  // namespace steelyard
