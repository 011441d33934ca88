#include "app/launch/launch_host.h"

#include <sys/wait.h>

#include <cmath>
#include <filesystem>

#include "app/launch/children.h"
#include "app/report/terminal_text.h"
#include "protocol/codec.h"

namespace steelyard {
namespace {

constexpr std::size_t longest_release = 100;  // columns
constexpr std::string_view by_us = "steelyard: ";
constexpr const char* by_path = "steelyard";  // the default of hosts with other files

// A shell without login often lacks the user's own folder of programs.
constexpr const char* in_path_or_own = R"(PATH="$PATH:$HOME/.local/bin"; exec "$0" "$@")";

std::string called(const LaunchHost& host, const std::string& roles) {
  return "host '" + host.spec.name + "'" + (roles.empty() ? "" : " (" + roles + ")");
}

}  // namespace

LaunchHost reached(const HostSpec& host, const std::string& self, const std::vector<std::string>& arguments) {
  LaunchHost it{host, host.steelyard.empty() ? self : host.steelyard, reach_of(host), {}};
  std::vector<std::string> words{it.program};
  if (it.program == by_path) words = {"sh", "-c", in_path_or_own, it.program};
  words.insert(words.end(), arguments.begin(), arguments.end());
  it.command = it.reach.command(words);
  return it;
}

std::string directory_on(const HostSpec& host) {
  const bool ours = !host.is_here() && host.shared_files;
  return ours ? (std::filesystem::current_path() / host.directory).string() : host.directory;
}

std::vector<std::string> attend_on(const HostSpec& host) {
  const std::string directory = directory_on(host);
  return directory.empty() ? std::vector<std::string>{"attend"}
                           : std::vector<std::string>{"attend", "--directory", directory};
}

void require_reachable(const LaunchHost& host) {
  const std::string place = host.spec.place.empty() ? "" : host.spec.place + ": ";
  const auto demand = [&](const std::string& trouble) {
    if (!trouble.empty()) refuse_setup(place + "host '" + host.spec.name + "': " + trouble);
  };
  demand(reach_trouble(host.reach));
  if (host.spec.has_our_files() && !is_runnable(host.program))
    demand("there is no program " + host.program + ": correct steelyard = in the hosts file");
}

Failure unreachable(const LaunchHost& host, const std::string& roles, int status, const std::string& said) {
  const std::string start = called(host, roles) + ": ";
  const std::string heard = said.empty() ? "" : ": " + said;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  // A shell exits with 126 or 127, srun with the number of the error, which is 2.
  if (code == 126 || code == 127 || (code == 2 && said.find("No such file") != std::string::npos)) {
    return {ExitCode::configuration, start + "there is no program '" + host.program + "' there (" +
                                         host.reach.title + ")" + heard +
                                         ": `steelyard install HOSTS` copies it there; or give its path with "
                                         "steelyard = in the hosts file"};
  }
  if (code == static_cast<int>(ExitCode::usage)) {
    return {ExitCode::protocol, start + "the program '" + host.program + "' there is another release" +
                                    heard +
                                    ": install the same release everywhere (`steelyard install HOSTS`)"};
  }
  // attend or examine itself has refused.
  if (code == static_cast<int>(ExitCode::configuration) && said.starts_with(by_us))
    return {ExitCode::configuration, start + said.substr(by_us.size())};
  const std::string what = start + "`" + shell_line(host.command) + "` " + describe_status(status) + heard;
  if (code < 0 || code == static_cast<int>(ExitCode::configuration)) return {ExitCode::configuration, what};
  return {ExitCode::unreachable, what + (host.reach.trial.empty() ? "" : ": " + host.reach.trial)};
}

Failure other_release(const LaunchHost& host, const std::string& roles, const std::string& release,
                      double protocol) {
  return {ExitCode::protocol, called(host, roles) + " has another release (" +
                                  shown_line(release, longest_release) + "), which uses protocol " +
                                  std::to_string(std::lround(protocol)) + ", not " +
                                  std::to_string(protocol_version) +
                                  ": install the same release everywhere (`steelyard install HOSTS`)"};
}

}  // namespace steelyard
