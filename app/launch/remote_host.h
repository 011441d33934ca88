// RemoteHost: a host at the end of a connection, the standard input and output of a process that leads there:
// ssh, `ip netns exec`, or `attend` itself.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/children.h"
#include "app/launch/launch_plan.h"
#include "app/launch/pipes.h"
#include "app/report/line_file.h"
#include "app/report/run_directory.h"
#include "core/time.h"

namespace steelyard {

// HostDoor: which lines of a host the launcher takes, and what it writes to this machine's disk for them.
//
// The program at the other end of a connection may be any program, on a machine of somebody else. So the
// launcher takes a message only if it is about a process that the plan has on that host. It opens logs only
// under names from the plan, never under a name from a message, and never through a symbolic link. Each log
// has a limit of bytes and a limit of lines a minute.
//
// RemoteHost owns one for its host and calls it. One thread.

// For each log.
struct HostLimits {
  std::uint64_t bytes = 64 << 20;       // with what earlier launches left in the file
  std::uint64_t lines_a_minute = 6000;  // the launcher neither writes nor shows what goes beyond
};

// Gets what a person should know of a host, a line each.
using Warning = std::function<void(const std::string&)>;

// The log of one source of lines. The file is made when it is opened or gets its first line.
class HostLog {
 public:
  // `source` names the host and the process in warnings.
  HostLog(std::string path, std::string source, const HostLimits& limits, const Warning& warn);

  void open();  // throws Failure (io)
  // Writes a line, cut at `longest_said`, while the file has room. Whether the line is within the limit of
  // lines: if not, nothing shows it. Throws Failure (io) if the file cannot be opened.
  bool add(const std::string& line, Time now);
  void note(const std::string& line, Time now);  // of the launcher itself: has no limit of lines
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
  // Plan, host and directory outlive this.
  HostDoor(const LaunchPlan& plan, const std::string& host, const RunDirectory& run, Warning warn,
           const HostLimits& limits = {});
  HostDoor(const HostDoor&) = delete;
  HostDoor& operator=(const HostDoor&) = delete;

  void open_log(const std::string& process);  // of the plan, on this host; throws Failure (io)
  // Whether the launcher acts on a message, or shows it; writes what a process printed into its log.
  // Throws Failure (io) if a log cannot be opened.
  bool take(const FromHost& message, Time now);
  // A line that is no message: of ssh, or of a login shell. It goes into the log of the host.
  void other(const std::string& line, Time now) { own_.add(line, now); }
  void flush(Time now);
  void close() const;  // nothing more comes: warns with the number of refused lines, if it is above one

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
  // What processes say goes to their logs in the run directory; what ssh or a login shell says, to that of
  // the host; both as far as HostDoor takes it. `warn` gets what a person should know of the host; it is
  // called on the thread that calls this. Plan, host and directory outlive this.
  RemoteHost(const LaunchPlan& plan, const LaunchHost& host, const RunDirectory& run, Warning warn);

  void tell(const ToHost& message) override;
  std::vector<FromHost> hear(Time now) override;
  void leave() override;
  [[nodiscard]] bool over() const override { return left_ && children_.running() == 0; }

 private:
  void check(const HostReady& message);
  [[nodiscard]] Failure lost(int status) const;

  const LaunchPlan& plan_;
  const LaunchHost& host_;
  HostDoor door_;
  Pipe to_host_ = make_pipe(), from_host_ = make_pipe(), errors_ = make_pipe();
  LineWriter in_{std::move(to_host_.write)};
  LineReader out_{std::move(from_host_.read), longest_launch_line};
  LineReader error_{std::move(errors_.read), longest_said};
  std::deque<std::string> words_;  // the last ones on standard error
  const Time since_ = steady_now();
  Time beat_ = since_;
  bool ready_ = false, left_ = false;
  std::optional<int> status_;  // once it has ended
  Children children_;          // first to go
};

}  // namespace steelyard
