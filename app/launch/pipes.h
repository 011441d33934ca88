// Pipes that carry lines: what launch, the processes that attend to hosts, and their children say to each
// other. Belongs to one thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/descriptor.h"
#include "core/time.h"

namespace steelyard {

// What a launcher and each of its hosts (Host) say to each other. Between `steelyard
// launch` and the `steelyard attend` on another host each is a line of JSON over the standard input and
// output of that process, whatever carries them there.
//
// The connection is the lease: when it ends, however it ends, attend ends what it has started. Beats tell a
// launcher that is idle from one that is gone.

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

// Where processes run, as their supervisor sees it. The messages cross a connection (RemoteHost) or stay in
// this process (LocalHost).
class Host {
 public:
  Host() = default;
  virtual ~Host() = default;
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  virtual void tell(const ToHost& message) = 0;
  // What has come since the last call, without waiting; HostReady is the first of all. Throws Failure when
  // the host is lost; then it is to be left.
  virtual std::vector<FromHost> hear(Time now) = 0;
  virtual void leave() = 0;                     // nothing more is told
  [[nodiscard]] virtual bool over() const = 0;  // it has been left, and nothing runs there
};

std::string to_line(const ToHost& message);
std::string to_line(const FromHost& message);

// Nothing for what is no such line: a login shell may say something before the program does.
std::optional<ToHost> to_host(const std::string& line);
std::optional<FromHost> from_host(const std::string& line);

// The longest line that a reader has to take: a job file of a megabyte, with every letter escaped.
inline constexpr std::size_t longest_launch_line = 8 << 20;
// Bytes of a line of a process, as it is told, written and shown: the rest of a longer one is cut off.
inline constexpr std::size_t longest_said = 1 << 16;

struct Pipe {
  Descriptor read, write;
};
// All of them are not inherited by children, and throw Failure (io).
Pipe make_pipe();
Descriptor text_to_read(const std::string& text);  // a file without a name, for a child's standard input
Descriptor log_to_write(const std::string& path);  // a file that grows, for what a child says

// Whole lines out of a pipe, without ever waiting; none out of a descriptor that is none. What ends without a
// newline is a line, too. One that is longer than the limit is cut into several.
class LineReader {
 public:
  LineReader(Descriptor end, std::size_t longest) : end_(std::move(end)), longest_(longest) {}

  std::vector<std::string> read();                     // that have come
  [[nodiscard]] bool ended() const { return ended_; }  // nothing more will come

 private:
  void take(char c, std::vector<std::string>& lines);

  Descriptor end_;
  std::size_t longest_;
  std::string begun_;
  bool cut_ = false;  // what was read last ended a line without being a newline
  bool ended_ = end_.get() < 0;
};

// Lines into a pipe, without ever waiting: what a stalled reader does not take is kept, up to a limit, and
// beyond it dropped.
class LineWriter {
 public:
  explicit LineWriter(Descriptor end);  // makes it non-blocking

  void add(const std::string& line);
  void flush();                                                          // as much as goes
  void close() { end_ = Descriptor(), broken_ = true; }                  // the reader sees the end
  [[nodiscard]] bool broken() const { return broken_; }                  // there is no reader any more
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }  // bytes

 private:
  Descriptor end_;
  std::string waiting_;
  bool broken_ = false;
};

}  // namespace steelyard
