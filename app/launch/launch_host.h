// LaunchHost: a host of a hosts file, and the command that runs this program there.
#pragma once

#include <string>
#include <vector>

#include "app/config/hosts_file.h"
#include "app/config/reach.h"
#include "core/error.h"

namespace steelyard {

struct LaunchHost {
  HostSpec spec;
  std::string program;  // on that host
  HostReach reach;
  std::vector<std::string> command;  // runs the program there
};

// `self` is the path of this program, for hosts that have it. On other hosts, without a key `steelyard`, the
// program is found in PATH, or where `steelyard install` puts it for a user (app/hosts/installation.h).
LaunchHost reached(const HostSpec& host, const std::string& self, const std::vector<std::string>& arguments);

// The working directory of a host's processes: empty if it is that of the connection. A relative one, or
// none, on a host with our files begins at the launcher's.
std::string directory_on(const HostSpec& host);
// The arguments of `attend` there.
std::vector<std::string> attend_on(const HostSpec& host);

// Checks what this machine can check. Throws Failure (configuration) if the command that reaches the host,
// the namespace or the program does not exist.
void require_reachable(const LaunchHost& host);

// The error for a host that never answered. `roles` is what runs there ("scheduler, ada"), or empty. `status`
// of the connection's process is from wait(), `said` is its standard error.
Failure unreachable(const LaunchHost& host, const std::string& roles, int status, const std::string& said);
// The error for a host whose program has another version of the protocol.
Failure other_release(const LaunchHost& host, const std::string& roles, const std::string& release,
                      double protocol);

}  // namespace steelyard
