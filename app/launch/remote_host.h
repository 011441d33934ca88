// RemoteHost: a host behind a connection, which is the standard input and output of a child process: the
// command that reaches the host (app/config/reach.h), or `attend` itself.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/launch_plan.h"
#include "app/launch/pipes.h"
#include "app/launch/reached_command.h"
#include "app/report/line_file.h"
#include "app/report/run_directory.h"
#include "core/time.h"

namespace steelyard {

// HostDoor: decides which lines of a host the launcher accepts, and writes their logs on this machine.
//
// The program at the other end of a connection is not trusted. So the launcher accepts a message only if it
// is about a process that the plan has on that host. It opens logs only under names from the plan, never
// under a name from a message, and never through a symbolic link. Each log has a limit of bytes and a limit
// of lines a minute.
//
// RemoteHost owns one for its host and calls it. One thread.

// For each log.
struct HostLimits {
  std::uint64_t bytes = 64 << 20;       // including lines of earlier launches in the file
  std::uint64_t lines_a_minute = 6000;  // further lines of that minute are neither written nor shown
};

// Receives warnings for the user about a host, one line each.
using Warning = std::function<void(const std::string&)>;

// The log of one source of lines. The file is created by open() or by its first line.
class HostLog {
 public:
  // `source` names the host and the process in warnings.
  HostLog(std::string path, std::string source, const HostLimits& limits, const Warning& warn);

  void open();  // throws Failure (io)
  // Writes a line, cut at `longest_said`, while the file has room. Returns whether the line is within the
  // limit of lines; if not, it must not be shown. Throws Failure (io) if the file cannot be opened.
  bool add(const std::string& line, Time now);
  void note(const std::string& line, Time now);  // a line of the launcher itself, without a limit of lines
  void flush(Time now);

 private:
  void begin_minute(Time now);

  const std::string path_, source_;
  const HostLimits& limits_;
  const Warning& warn_;
  std::optional<LineFile> file_;
  std::uint64_t room_ = 0;  // bytes left
  bool full_ = false, warned_ = false;
  Time minute_;                 // when it began
  std::uint64_t lines_ = 0;     // in this minute
  std::uint64_t left_out_ = 0;  // of them
};

class HostDoor {
 public:
  // Plan, host and directory must outlive this.
  HostDoor(const LaunchPlan& plan, const std::string& host, const RunDirectory& run, Warning warn,
           const HostLimits& limits = {});
  HostDoor(const HostDoor&) = delete;
  HostDoor& operator=(const HostDoor&) = delete;

  void open_log(const std::string& process);  // a process that the plan has on this host; throws Failure (io)
  // Returns whether the launcher may use or show a message; writes output of a process to its log. Throws
  // Failure (io) if a log cannot be opened.
  bool take(const FromHost& message, Time now);
  // Writes a line that is not a message, of ssh or a login shell, to the log of the host.
  void other(const std::string& line, Time now) { own_.add(line, now); }
  void flush(Time now);
  void close() const;  // at the end of the connection: warns with the number of refused lines, if above one

  [[nodiscard]] std::uint64_t refused() const { return refused_; }  // messages about unknown processes

 private:
  bool refuse(const std::string& process);

  const std::string host_;
  const Warning warn_;
  const HostLimits limits_;
  HostLog own_;
  std::map<std::string, HostLog> logs_;  // by process of this host
  std::uint64_t refused_ = 0;
};

class RemoteHost final : public Host {
 public:
  // Output of processes goes to their logs in the run directory, output of ssh or a login shell to the log of
  // the host, both as far as HostDoor accepts it. `warn` is called on the thread that calls this. Plan, host
  // and directory must outlive this.
  RemoteHost(const LaunchPlan& plan, const LaunchHost& host, const RunDirectory& run, Warning warn);

  void tell(const ToHost& message) override;
  std::vector<FromHost> hear(Time now) override;
  void leave() override;
  [[nodiscard]] bool over() const override { return left_ && command_.over(); }

 private:
  void check(const HostReady& message);
  [[nodiscard]] Failure lost(int status) const;

  const LaunchPlan& plan_;
  const LaunchHost& host_;
  HostDoor door_;
  const Time since_ = steady_now();
  Time beat_ = since_;
  bool ready_ = false, left_ = false;
  ReachedCommand command_;
};

}  // namespace steelyard
