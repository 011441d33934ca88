// `steelyard install`: copies this program, with the libraries and files that it needs, to the hosts of a
// hosts file, over the connection that `launch` uses. A host needs a shell, tar and gzip; nothing of
// Steelyard.
//
// On a host the copy is PREFIX/lib/steelyard-DIGEST, and PREFIX/bin/steelyard is a link to the program in it.
// The copy is unpacked beside, and run once, before it gets its name and the link changes, so a host has the
// former program or the new one, never a part. DIGEST is of the content: a host that has it is left alone.
// A former copy is removed unless a process runs from it.
//
// PREFIX follows from the key `steelyard` (PREFIX/bin/steelyard); without it, it is /usr/local for root and
// ~/.local for others, where `launch` finds the program.
#pragma once

#include <map>
#include <string>

#include "app/config/hosts_file.h"

namespace steelyard {

struct InstallCommand {
  std::string hosts_file;
};

// Reports on every host. Returns 0, or the code of the first host that failed (ExitCode).
int run_install(const InstallCommand& command);

// ---- its parts

struct Package {
  std::string archive;  // a file
  std::string digest;
  std::string glibc;    // the version that it needs, as in "2.34"
  std::string machine;  // as of `uname -sm`
};

// Packs this program into a file of this folder. Throws Failure (configuration) if it cannot be packed.
Package pack(const std::string& folder);

// PREFIX of a host; empty: it depends on the user there. Throws Failure (configuration) if the key
// `steelyard` does not end in /bin/steelyard.
std::string prefix_on(const HostSpec& host);

// What a host told, KEY=VALUE on each line.
using HostAnswers = std::map<std::string, std::string>;
HostAnswers answers_in(const std::string& output);
// Why the package cannot run there, with the remedy; empty if nothing is known against it. Its glibc may be
// unknown yet.
std::string trouble_with(const HostAnswers& there, const Package& package);

}  // namespace steelyard
