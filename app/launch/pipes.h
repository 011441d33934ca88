// Pipes of lines between the launcher, `attend` on each host, and their children; and the messages in them.
// Each object belongs to one thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/launch/core_part.h"
#include "core/descriptor.h"
#include "core/time.h"

namespace steelyard {

// Messages between a launcher and its hosts (Host). Between `steelyard launch` and `steelyard attend` on
// another host each is a line of JSON on the standard input or output of attend, carried by ssh or another
// command.
//
// The connection is a lease: when it ends for any reason, attend stops the processes that it started.
// Heartbeats (Beat) distinguish an idle launcher from a lost one.

// Launch to a host.
struct StartProcess {
  std::string name;
  std::vector<std::string> arguments;      // of the program
  std::string input;                       // its standard input
  std::string program{};                   // a user's program; empty: this program
  std::vector<std::string> environment{};  // NAME=value, added to the host's environment
  // Number of user programs that share the host's cores: sets OMP_NUM_THREADS, unless the user has set it. 0:
  // leaves it unset.
  unsigned sharing = 0;
  CorePart cores{};    // that it is bound to
  std::string keys{};  // its secret key and the public keys it accepts (protocol/keys.h); empty: plain text
};
struct SignalProcess {
  std::string name;
  int signal = 0;  // SIGTERM requests an orderly exit
};
struct Beat {};
using ToHost = std::variant<StartProcess, SignalProcess, Beat>;

// A host to launch.
struct HostReady {  // the first line
  std::uint64_t protocol = 0;
  std::string release;
};
struct Said {  // a line of output
  std::string name;
  bool error = false;  // from standard error
  std::string text;
};
struct ProcessEnded {
  std::string name;
  int status = 0;  // from wait()
};
using FromHost = std::variant<HostReady, Said, ProcessEnded>;

// A place where processes run. Messages cross a connection (RemoteHost) or stay in this process (LocalHost).
class Host {
 public:
  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  virtual void tell(const ToHost& message) = 0;
  // The messages that have arrived since the last call, without waiting; HostReady is the first one. Throws
  // Failure if the host is lost; the caller must then leave() it.
  virtual std::vector<FromHost> hear(Time now) = 0;
  virtual void leave() = 0;                     // no more messages will be sent
  [[nodiscard]] virtual bool over() const = 0;  // after leave(): no process runs there
};

std::string to_line(const ToHost& message);
std::string to_line(const FromHost& message);

// Return std::nullopt for any other line: a login shell may print something first.
std::optional<ToHost> to_host(const std::string& line);
std::optional<FromHost> from_host(const std::string& line);

// The longest message line in bytes: a job file of a megabyte, with every letter escaped.
inline constexpr std::size_t longest_launch_line = 8 << 20;
// The longest line of output of a process in bytes; the rest of a longer one is cut off.
inline constexpr std::size_t longest_said = 1 << 16;

struct Pipe {
  Descriptor read, write;
};
// These throw Failure (io). Children do not inherit the descriptors.
Pipe make_pipe();
Descriptor text_to_read(const std::string& text);  // an unnamed file with this text, for a child's input
Descriptor log_to_write(const std::string& path);  // a file opened for appending, for a child's output

// Reads whole lines from a pipe without blocking; an invalid descriptor counts as a pipe at its end. A last
// line without a newline counts as a line. A line longer than the limit is split.
class LineReader {
 public:
  LineReader(Descriptor end, std::size_t longest) : end_(std::move(end)), longest_(longest) {}

  std::vector<std::string> read();                     // the lines that have arrived
  [[nodiscard]] bool ended() const { return ended_; }  // the pipe is at its end

 private:
  void take(char c, std::vector<std::string>& lines);

  Descriptor end_;
  std::size_t longest_;
  std::string begun_;
  bool cut_ = false;  // the last byte completed a line of the longest length, without a newline
  bool ended_ = end_.get() < 0;
};

// Writes lines to a pipe without blocking. If the reader stalls, lines are buffered up to a limit, and
// dropped beyond it.
class LineWriter {
 public:
  explicit LineWriter(Descriptor end);  // makes it non-blocking

  void add(const std::string& line);
  void flush();                                                          // writes as much as the pipe accepts
  void close() { end_ = Descriptor(), broken_ = true; }                  // the reader gets end of file
  [[nodiscard]] bool broken() const { return broken_; }                  // closed, or the reader has exited
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }  // bytes

 private:
  Descriptor end_;
  std::string waiting_;
  bool broken_ = false;
};

}  // namespace steelyard
