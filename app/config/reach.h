// HostReach: how the launcher reaches a host: by a command whose standard input and output are those of a
// program on that host. `ssh` and `netns` of a hosts file are short forms of `through`, which is any such
// command: srun, docker exec, kubectl exec. Pure, except reach_trouble() and is_runnable().
//
// Words may contain placeholders:
//
//   {name}     the host's name
//   {address}  its address
//   {command}  the program with its arguments, quoted for a shell. For commands that pass one text to a
//              shell, as ssh and `sh -c` do. Without it, program and arguments follow as words, as srun and
//              `docker exec` expect them.
#pragma once

#include <string>
#include <vector>

#include "app/config/hosts_file.h"

namespace steelyard {

struct HostReach {
  std::vector<std::string> words;  // without {name} and {address}; empty: this machine
  std::string key;                 // of the hosts file: "ssh"
  std::string title;               // for messages: "ssh ann@lion", "network namespace left"
  std::string install;             // the remedy if the first word cannot be run: "install openssh-client"
  std::string trial;               // the remedy if the host cannot be reached: "make `ssh lion true` work"
  // A file that exists if the host does, and the error if it does not. Empty: none.
  std::string needs{}, without{};

  // The command that runs this program on the host.
  [[nodiscard]] std::vector<std::string> command(const std::vector<std::string>& program) const;
};

HostReach reach_of(const HostSpec& host);

// The first error in words with placeholders; empty: none.
std::string placeholder_trouble(const std::vector<std::string>& words);

// What prevents this machine from using it, with the remedy: the first word cannot be run, or the host does
// not exist. Empty: nothing that can be checked here.
std::string reach_trouble(const HostReach& reach);

// Whether a program, given as a path or as a name in PATH, can be executed.
bool is_runnable(const std::string& program);

// Quotes a text as one word for a POSIX shell.
std::string shell_word(const std::string& text);
std::string shell_line(const std::vector<std::string>& words);

}  // namespace steelyard
