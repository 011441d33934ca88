#include "app/processes/processes.h"

#include <sys/resource.h>
#include <unistd.h>

#include <random>
#include <sstream>

#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "core/error.h"
#include "core/processor.h"
#include "protocol/node.h"
#include "transport/address.h"

namespace steelyard {

RunDirectory choose_run_directory(const ResultOptions& options, const std::string& job_name) {
  if (options.ready || options.resume) return RunDirectory::open(options.directory);
  if (!options.directory.empty()) return RunDirectory::create(options.directory);
  return RunDirectory::next("runs", job_name);
}

NodeId new_node(Role role) {
  std::random_device device;
  const std::uint64_t number = (std::uint64_t{device()} << 32) | device();
  return {role, number | 1};  // never 0, which is the scheduler's
}

std::string default_name(const char* role) {
  const std::string before = std::string(role) + "-", behind = "-" + std::to_string(getpid());
  constexpr std::size_t of_a_shard = 3;  // "/63", which a server appends
  return before + host_name().substr(0, longest_name - before.size() - behind.size() - of_a_shard) + behind;
}

Memory memory_for(const std::string& exchange) {
  return exchange == exchanges.front() ? Memory::shared : Memory::own;
}

namespace {

// The first host among endpoints, separated by commas, that has no address; empty: all have.
std::string unknown_host(const std::string& places) {
  std::istringstream all(places);
  for (std::string place; std::getline(all, place, ',');) {
    const auto parts = host_port(place.find("://") == std::string::npos ? "tcp://" + place : place);
    if (parts && addresses_of(parts->host).empty()) return parts->host;
  }
  return "";
}

}  // namespace

std::string looking_for(const std::string& scheduler, double wait) {
  const std::string unknown = unknown_host(scheduler);
  return "looking for the scheduler at " + scheduler + ", for up to " + printed("%g", wait) + " s" +
         (unknown.empty() ? "" : "; there is no host '" + unknown + "' yet");
}

Ending ending_of(const ExitReason& ending, const std::string& scheduler) {
  const auto code = [](ExitCode it) { return static_cast<int>(it); };
  if (ending.refusal()) {
    const std::string text = "refused: " + ending.refusal()->text;
    const Refusal reason = ending.refusal()->reason;
    if (reason == Refusal::name || reason == Refusal::endpoint || reason == Refusal::memory)
      return {code(ExitCode::configuration), text};
    const bool late = reason == Refusal::full || reason == Refusal::finished;
    return {code(late ? ExitCode::temporary : ExitCode::protocol), text};
  }
  if (ending.unreachable()) {
    if (const std::string unknown = unknown_host(scheduler); !unknown.empty()) {
      return {code(ExitCode::unreachable),
              "there is no host '" + unknown + "': correct --scheduler, or add the name to /etc/hosts"};
    }
    return {code(ExitCode::unreachable),
            "no answer from the scheduler at " + scheduler + "; is it running there?"};
  }
  return {code(exit_code(ending.stop().outcome)), ending.stop().text};
}

int verdict(const char* role, const ExitReason& ending, const std::string& scheduler) {
  const auto [code, text] = ending_of(ending, scheduler);
  if (!text.empty()) standard_error().line(std::string("steelyard ") + role + ": " + shown_line(text));
  return code;
}

std::function<void(const std::string&)> speaker(const char* role, const std::string& name, bool quiet) {
  if (quiet) return [](const std::string&) {};
  return [before = std::string("steelyard ") + role + " '" + name + "': "](const std::string& line) {
    standard_error().line(before + shown_line(line));
  };
}

void require_descriptors(const std::string& what, std::uint64_t connections, std::uint64_t peers) {
  constexpr std::uint64_t own = 64, of_a_connection = 4;
  const std::uint64_t needed = own + of_a_connection * connections + peers;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || needed <= limit.rlim_cur) return;
  throw Failure(
      ExitCode::configuration,
      what + " needs about " + std::to_string(needed) + " open files, and this process may have only " +
          std::to_string(limit.rlim_cur) +
          ": raise the limit (ulimit -n), or give the job fewer servers or shards_per_server in [cluster]");
}

void require_descriptors_for(const Job& job) {
  raise_descriptor_limit();
  require_descriptors("a scheduler of " + std::to_string(job.shards) + " shards", job.shards,
                      job.shards + job.workers);
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace steelyard
