// Rules for a hosts file beyond those of `launch`: what Slurm and Kubernetes can be asked for.
#pragma once

#include "app/config/hosts_file.h"

namespace steelyard {

class TomlSection;

// Throw Failure (configuration) with the place of the key.
void check_machines(HostsUse use, const TomlSection& section, const HostSpec& host);
// `section` is that of a worker; `keys` are those it may have.
void check_worker(HostsUse use, const TomlSection& section, const std::vector<Key>& keys);

}  // namespace steelyard
