// What a launcher and each of its hosts (app/launch/cluster_host.h) say to each other. Between `steelyard launch` and the
// `steelyard attend` on another host each is a line of JSON over the standard input and output of that
// process, whatever carries them there.
//
// The connection is the lease: when it ends, however it ends, attend ends what it has started. Beats tell a
// launcher that is idle from one that is gone.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace steelyard {

// Launch to a host.
struct StartProcess {
  std::string name;
  std::vector<std::string> arguments;      // of the program
  std::string input;                       // what it finds in its standard input
  std::string program{};                   // of a user; empty: this very one
  std::vector<std::string> environment{};  // NAME=value, beside that of the host
  unsigned sharing = 0;  // so many programs of a user share the cores there: sets OMP_NUM_THREADS, where the
                         // user has not; 0: does not
  std::string keys{};    // its secret key and whom it lets in (protocol/keys.h); empty: plain text
};
struct SignalProcess {
  std::string name;
  int signal = 0;  // SIGTERM asks it to end in good order
};
struct Beat {};
using ToHost = std::variant<StartProcess, SignalProcess, Beat>;

// A host to launch.
struct HostReady {  // the first of all lines
  std::uint64_t protocol = 0;
  std::string release;
};
struct Said {  // by a process
  std::string name;
  bool error = false;  // to its standard error
  std::string text;
};
struct ProcessEnded {
  std::string name;
  int status = 0;  // as wait() gives it
};
using FromHost = std::variant<HostReady, Said, ProcessEnded>;

std::string to_line(const ToHost& message);
std::string to_line(const FromHost& message);

// Nothing for what is no such line: a login shell may say something before the program does.
std::optional<ToHost> to_host(const std::string& line);
std::optional<FromHost> from_host(const std::string& line);

// The longest line that a reader has to take: a job file of a megabyte, with every letter escaped.
inline constexpr std::size_t longest_launch_line = 8 << 20;
// Bytes of a line of a process, as it is told, written and shown: the rest of a longer one is cut off.
inline constexpr std::size_t longest_said = 1 << 16;

}  // namespace steelyard
