// What `steelyard render` writes files for: a job or a script, and the machines that it asks for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/config/hosts_file.h"

namespace steelyard {

struct RenderedJob {
  std::string name;                    // of all objects, and of the job in the queue
  std::string origin;                  // the command that rendered it, for the comment at the top
  std::string file;                    // job file or script, as on the command line
  std::string text;                    // the whole job, with the workers of all pods; empty: a script
  std::vector<std::string> settings;   // of --set
  std::vector<std::string> arguments;  // of the script
  bool hosted = false;                 // GPU workers are the servers (servers = "workers")
  HostsFile hosts;                     // those with workers first, so that these have the first numbers
  std::uint32_t grace_s = 60;          // between SIGTERM and SIGKILL

  [[nodiscard]] bool is_script() const { return text.empty(); }
};

// Sums over all machines.
std::uint32_t machines_in(const HostsFile& hosts);
std::uint32_t workers_in(const HostsFile& hosts);
std::uint32_t servers_in(const HostsFile& hosts);

}  // namespace steelyard
