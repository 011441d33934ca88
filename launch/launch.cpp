#include "launch/launch.h"

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>

#include "core/error.h"
#include "launch/children.h"
#include "launch/lines.h"
#include "launch/pipes.h"
#include "launch/plan.h"
#include "launch/watch.h"
#include "report/line_file.h"
#include "report/run_directory.h"
#include "report/terminal_text.h"
#include "roles/run_lock.h"
#include "roles/signals.h"
#include "wire/codec.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr Duration tick = std::chrono::milliseconds(20);
constexpr Duration beat = std::chrono::seconds(5);        // attend waits five minutes for the next
constexpr Duration first_word = std::chrono::minutes(1);  // from a host
constexpr Duration farewell = std::chrono::seconds(5);    // for the others to end after the scheduler
constexpr Duration leave = std::chrono::seconds(20);      // for attend to end them
constexpr std::size_t kept_words = 5;                     // last lines of a process, for messages

// What was said last, by a process or on the way to a host.
class LastWords {
 public:
  void add(const std::string& line) {
    lines_.push_back(line);
    if (lines_.size() > kept_words) lines_.pop_front();
  }
  [[nodiscard]] std::string joined(const std::string& before, const std::string& between) const {
    std::string text;
    for (const std::string& line : lines_) text += (text.empty() ? "" : between) + before + line;
    return text;
  }

 private:
  std::deque<std::string> lines_;
};

// The way to a host: the process that leads there, and what is said both ways.
struct Connection {
  const LaunchHost& host;
  LineWriter in;
  LineReader out, error;
  LastWords words;  // on standard error: ssh's own, or those of a program that did not start
  bool ready = false, lost = false;
  Time since;
};

class Launch {
 public:
  Launch(const LaunchCommand& command, const LaunchPlan& plan, const RunDirectory& run)
      : command_(command), plan_(plan), run_(run), watch_(plan) {}

  int run(const std::atomic<bool>& interrupted);

 private:
  void connect(const LaunchHost& host);
  void hear(Connection& connection);
  void hear(Connection& connection, const HostReady& message);
  void hear(Connection& connection, const Said& message);
  void hear(Connection& connection, const ProcessEnded& message);
  void lose(Connection& connection, const Failure& why);
  void look_after();
  void act(const Steps& steps);
  void start(const std::string& name);
  void send(const std::string& process, const ToHost& message);
  LineFile& log(const std::string& name);
  void wait() const;
  bool others_ended(Duration timeout);
  void leave_hosts();

  const LaunchCommand& command_;
  const LaunchPlan& plan_;
  const RunDirectory& run_;
  LaunchWatch watch_;
  std::map<std::string, std::unique_ptr<LineFile>> logs_;
  std::map<std::string, LastWords> words_;  // of processes
  std::map<std::string, bool> running_;     // processes
  std::optional<int> code_;
  Time beat_{};
  std::vector<std::unique_ptr<Connection>> connections_;
  Children children_;  // first to go
};

int Launch::run(const std::atomic<bool>& interrupted) {
  for (const LaunchHost& host : plan_.hosts) connect(host);
  bool told = false;
  while (!code_) {
    if (interrupted && !std::exchange(told, true)) act(watch_.interrupted());
    look_after();
    act(watch_.wake(steady_now()));
    if (!code_) wait();
  }
  others_ended(farewell);
  leave_hosts();
  return *code_;
}

void Launch::connect(const LaunchHost& host) {
  Pipe in = make_pipe(), out = make_pipe(), error = make_pipe();
  children_.start(host.spec.name, Program{.path = host.reach.front(),
                                          .arguments = {host.reach.begin() + 1, host.reach.end()},
                                          .in = in.read.number(),
                                          .out = out.write.number(),
                                          .error = error.write.number()});
  connections_.push_back(std::make_unique<Connection>(Connection{host,
                                                                 LineWriter(std::move(in.write)),
                                                                 {std::move(out.read), longest_launch_line},
                                                                 {std::move(error.read), longest_launch_line},
                                                                 {},
                                                                 false,
                                                                 false,
                                                                 steady_now()}));
}

// Reads, beats, and notices who has gone.
void Launch::look_after() {
  const Time now = steady_now();
  const bool due = now - beat_ > beat;
  if (due) beat_ = now;
  for (const auto& it : connections_) {
    if (it->lost) continue;
    if (due) it->in.add(to_line(Beat{}));
    it->in.flush();
    hear(*it);
    if (!it->ready && now - it->since > first_word) {
      lose(*it, Failure(ExitCode::unreachable,
                        "host '" + it->host.spec.name + "' (" + plan_.roles_on(it->host.spec.name) +
                            "): no answer within a minute: does `" + shell_line(it->host.reach) + "` work?"));
    }
  }
  for (const Child& child : children_.ended()) {
    for (const auto& it : connections_) {
      if (it->host.spec.name != child.name || it->lost) continue;
      hear(*it);
      const std::string said = it->words.joined("", "; ");
      lose(*it, it->ready ? Failure(ExitCode::unreachable,
                                    "host '" + child.name + "': the connection is lost (" +
                                        describe_status(*child.status) + (said.empty() ? "" : ": " + said) +
                                        "), and with it " + plan_.roles_on(child.name))
                          : unreachable(plan_, it->host, *child.status, said));
    }
  }
  for (auto& [name, file] : logs_) file->flush(now);
}

void Launch::lose(Connection& connection, const Failure& why) {
  connection.lost = true;
  connection.in.close();
  for (const LaunchProcess& process : plan_.processes) {
    if (process.host == connection.host.spec.name) running_[process.name] = false;
  }
  act(watch_.host_lost(connection.host.spec.name, why));
}

void Launch::hear(Connection& connection) {
  const std::string& name = connection.host.spec.name;
  for (std::string& line : connection.error.read()) {
    if (line.ends_with('\r')) line.pop_back();  // ssh thinks that a terminal reads it
    connection.words.add(line);
    log("host-" + name).add(line, steady_now());
  }
  for (const std::string& line : connection.out.read()) {
    const std::optional<FromHost> message = from_host(line);
    if (!message) {
      log("host-" + name).add(line, steady_now());  // a login shell that greets
    } else if (!connection.lost) {
      std::visit([&](const auto& it) { hear(connection, it); }, *message);
    }
  }
}

void Launch::hear(Connection& connection, const HostReady& message) {
  const std::string& name = connection.host.spec.name;
  if (message.protocol != protocol_version) {
    return lose(
        connection,
        Failure(ExitCode::protocol,
                "host '" + name + "' (" + plan_.roles_on(name) + ") has another release (" + message.release +
                    "), which speaks protocol " + std::to_string(message.protocol) + ", not " +
                    std::to_string(protocol_version) + ": install the same release everywhere"));
  }
  connection.ready = true;
  if (!watch_.host_ready(name)) return;
  for (const LaunchProcess& process : plan_.processes) start(process.name);
}

void Launch::hear(Connection& connection, const Said& message) {
  const bool scheduler = message.name == "scheduler";
  log(message.name).add(message.text, steady_now());
  words_[message.name].add(message.text);
  const std::string before = scheduler ? "" : message.name + "@" + connection.host.spec.name + ": ";
  if (scheduler || !command_.quiet)
    std::fprintf(message.error ? stderr : stdout, "%s%s\n", before.c_str(), shown_line(message.text).c_str());
  std::fflush(stdout);
}

void Launch::hear(Connection&, const ProcessEnded& message) {
  if (!running_.contains(message.name)) return;
  running_[message.name] = false;
  std::string words = "; its log is " + run_.log(message.name);
  if (command_.quiet) words += "\n" + words_[message.name].joined("  ", "\n");  // not shown yet
  act(watch_.process_ended(steady_now(), message.name, message.status, words));
}

void Launch::act(const Steps& steps) {
  for (const std::string& text : steps.says)
    std::fprintf(stderr, "steelyard: %s\n", shown_lines(text).c_str());
  for (const std::string& name : steps.starts) start(name);
  if (steps.tell) send("scheduler", SignalProcess{"scheduler", somebody_is_gone});
  if (steps.end) send("scheduler", SignalProcess{"scheduler", SIGTERM});
  if (steps.code && !code_) code_ = steps.code;
}

void Launch::start(const std::string& name) {
  for (const LaunchProcess& it : plan_.processes) {
    if (it.name != name) continue;
    running_[name] = true;
    log(name);  // there, and empty, if it has nothing to say
    send(name, StartProcess{name, it.arguments, it.input});
  }
}

void Launch::send(const std::string& process, const ToHost& message) {
  for (const LaunchProcess& it : plan_.processes) {
    if (it.name != process) continue;
    for (const auto& connection : connections_) {
      if (connection->host.spec.name == it.host && !connection->lost) connection->in.add(to_line(message));
    }
  }
}

LineFile& Launch::log(const std::string& name) {
  std::unique_ptr<LineFile>& file = logs_[name];
  if (!file) file = std::make_unique<LineFile>(run_.log(name));
  return *file;
}

void Launch::wait() const {
  std::vector<int> all;
  for (const auto& it : connections_) all.insert(all.end(), {it->out.descriptor(), it->error.descriptor()});
  wait_readable(all, tick);
}

bool Launch::others_ended(Duration timeout) {
  const auto is_over = [&] {
    return std::ranges::none_of(running_, [](const auto& it) { return it.second; });
  };
  for (const Time end = steady_now() + timeout; !is_over() && steady_now() < end; wait()) look_after();
  return is_over();
}

// Whoever has not been told by the scheduler is told by us; then the connections end.
void Launch::leave_hosts() {
  for (const auto& [name, runs] : running_) {
    if (runs) send(name, SignalProcess{name, SIGTERM});
  }
  for (const auto& it : connections_) it->in.flush();
  others_ended(farewell);
  for (const auto& it : connections_) it->in.close();
  const Time end = steady_now() + leave;
  while (children_.running() > 0 && steady_now() < end) {
    for (const auto& it : connections_) hear(*it);
    children_.ended();
    wait();
  }
}

// Logs lie where results lie, if both are on this machine.
struct Places {
  RunDirectory run;
  ResultPlace results;
};

Places places(const LaunchCommand& command, const HostSpec& scheduler, const std::string& job_name) {
  const bool here = scheduler.ssh.empty();
  if (!here) {
    RunDirectory run = RunDirectory::next("runs", job_name);
    std::error_code ignored;
    fs::remove(run.checkpoints(), ignored);  // they are over there
    return {std::move(run), {command.run_directory, false}};
  }
  RunDirectory run = command.resume                   ? RunDirectory::open(command.run_directory)
                     : !command.run_directory.empty() ? RunDirectory::create(command.run_directory)
                                                      : RunDirectory::next("runs", job_name);
  { const RunLock nobody_is_in_it(run.path()); }  // the scheduler takes it for good
  const std::string path = scheduler.directory.empty() ? run.path() : fs::absolute(run.path()).string();
  return {std::move(run), {path, true}};
}

}  // namespace

int run_launch(const LaunchCommand& command, const Extensions& extensions) {
  const HostsFile hosts = read_hosts_file(command.hosts_file);
  const JobFile job = job_for_hosts(command, hosts, extensions);
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  if (command.dry_run) {
    const ResultPlace results{command.run_directory, false};
    std::fputs(describe_plan(make_launch_plan(command, hosts, job, results, self)).c_str(), stdout);
    return static_cast<int>(ExitCode::ok);
  }
  // Every mistake that can be seen from here is found before anything is made or started.
  for (const LaunchHost& host : make_launch_plan(command, hosts, job, {}, self).hosts)
    require_reachable(host);
  const Places where = places(command, hosts.scheduler(), job.job.name);
  write_text(where.run.job(), job.resolved);
  const LaunchPlan plan = make_launch_plan(command, hosts, job, where.results, self);
  std::atomic<bool> interrupted = false;
  const SignalWatch signals([&](int) { interrupted = true; },
                            {"Ctrl-C again ends at once", [] {
                               return "the processes on all hosts end by themselves; checkpoints are kept "
                                      "where the scheduler runs, for --run-dir and --resume";
                             }});
  return Launch(command, plan, where.run).run(interrupted);
}

}  // namespace steelyard
