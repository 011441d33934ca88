#include "app/launch/local_cluster.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <thread>

#include "app/launch/further_jobs.h"
#include "app/launch/local_host.h"
#include "app/launch/pipes.h"
#include "app/launch/remote_host.h"
#include "app/launch/supervision.h"
#include "app/launch/user_script.h"
#include "app/processes/signals.h"
#include "app/report/progress_bar.h"
#include "app/report/terminal_text.h"
#include "app/report/terminal_writer.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr Duration tick = std::chrono::milliseconds(20);
constexpr Duration farewell = std::chrono::seconds(5);    // for the others to exit after the scheduler
constexpr Duration last_wait = std::chrono::seconds(20);  // for attend to stop the processes on its host
constexpr Duration for_ever = std::chrono::hours(24 * 36525);
constexpr const char* recover = "--recover";
constexpr std::size_t last_words = 5;             // lines of a log that a message shows
constexpr std::size_t last_words_of_script = 20;  // more, for a traceback with two lines for each function

bool exited_well(int status) { return WIFEXITED(status) && WEXITSTATUS(status) == 0; }

void tell_people(const std::string& text) { standard_error().line("steelyard: " + shown_lines(text)); }

bool shares_terminal(const LaunchPlan& plan, bool quiet) {
  if (!plan.here || quiet || isatty(STDOUT_FILENO) != 1 || isatty(STDERR_FILENO) != 1) return false;
  return progress_style(true, 0, std::getenv("TERM"), nullptr, nullptr).terminal;
}

// Belongs to one thread.
class Cluster {
 public:
  // Plan and directory must outlive this.
  Cluster(const LaunchPlan& plan, const RunDirectory& run, int lock, bool quiet,
          std::function<std::string()> way_back)
      : plan_(plan),
        run_(run),
        quiet_(quiet),
        clears_line_(shares_terminal(plan, quiet)),
        supervision_(plan, std::move(way_back)),
        further_(plan.further) {
    for (const LaunchHost& it : plan.hosts) {
      const std::string& name = it.spec.name;
      if (plan.here) {
        places_.push_back({name, std::make_unique<LocalHost>(run, lock)});
      } else {
        places_.push_back({name, std::make_unique<RemoteHost>(plan, it, run, tell_people)});
      }
    }
  }

  int run(const Requests& requests) {
    const auto& interrupted = requests.interrupted;
    while (true) {
      if (interrupted()) act(supervision_.interrupted());
      if (requests.lost && requests.lost()) abandon();
      if (requests.save()) tell("scheduler", SignalProcess{"scheduler", save_and_continue});
      look_after();
      act(supervision_.wake(steady_now()));
      if (!code_ && kill_at_ && steady_now() > *kill_at_) code_ = static_cast<int>(ExitCode::temporary);
      if (code_) break;
      std::this_thread::sleep_for(tick);
    }
    if (!scheduler_killed_ && !scheduler_lost_)
      wait_for_scripts(interrupted, code_ == static_cast<int>(ExitCode::ok));
    leave();
    return *code_;
  }

 private:
  struct Place {
    std::string name;
    std::unique_ptr<Host> host;
    bool lost = false;
  };

  void look_after() {
    const Time now = steady_now();
    for (Place& place : places_) {
      std::vector<FromHost> news;
      try {
        news = place.host->hear(now);
      } catch (const Failure& why) {
        lose(place, why);
      }
      for (const FromHost& message : news) {
        if (!place.lost) std::visit([&](const auto& it) { hear(place, it); }, message);
      }
    }
  }

  void hear(Place& place, const HostReady&) {
    if (!supervision_.host_ready(place.name)) return;
    for (const LaunchProcess& process : plan_.processes) start(process);
  }
  void hear(Place& place, const Said& message) {
    const bool scheduler = message.name == "scheduler", script = is_script(message.name);
    if (quiet_ && !scheduler) return;
    if (script && message.error) return;  // it is in the log; its end is shown if the script fails
    const bool plain = scheduler || (script && plan_.workers() == 1 && plan_.tasks == 1);
    const std::string before =
        plain ? "" : message.name + (plan_.here ? std::string() : "@" + place.name) + ": ";
    const std::string line = (clears_line_ ? "\r\033[K" : "") + before + shown_line(message.text);
    if (message.error) return standard_error().line(line);
    // Output of a script is never dropped, and stays in order on a terminal.
    if (clears_line_) standard_error().settle();
    std::fprintf(stdout, "%s\n", line.c_str());
    std::fflush(stdout);
  }

  void hear(Place&, const ProcessEnded& message) {
    const auto& [name, status] = message;
    if (!running_.contains(name)) return;
    running_[name] = false;
    if (name == "scheduler") scheduler_killed_ = !WIFEXITED(status);
    std::string words = "; its log is " + run_.log(name);
    const bool script = is_script(name);
    if (plan_.here || quiet_ || script) {  // its output was not shown
      words += "\n" + last_lines(run_.log(name), script ? last_words_of_script : last_words);
      words.pop_back();
    }
    if (script && !code_) {
      if (exited_well(status) && has_joined(name) == false) words = ": " + plan_.not_joined + words;
      if (hint_.empty()) hint_ = remedy_for_missing_module(program_of(name), words);
    }
    const bool counts = script && !restarted_.contains(name);  // a restarted one may be too late
    if (code_ == static_cast<int>(ExitCode::ok) && counts && status != 0 &&
        !further_.stopped()) {  // after the job
      standard_error().line("steelyard: process '" + name + "' " + describe_status(status) +
                            shown_lines(words));
      code_ = static_cast<int>(ExitCode::failed);
    }
    act(supervision_.ended(steady_now(), name, status, words));
  }

  void lose(Place& place, const Failure& why) {
    place.lost = true;
    place.host->leave();
    for (const LaunchProcess& process : plan_.processes) {
      if (process.host != place.name) continue;
      running_[process.name] = false;
      scheduler_lost_ |= process.role == Role::scheduler;
    }
    act(supervision_.host_lost(place.name, why));
  }
  void act(const Steps& steps) {
    if (code_) return;
    for (const std::string& text : steps.says) tell_people(text);
    if (!steps.says.empty() && !hint_.empty() && !std::exchange(hinted_, true)) tell_people(hint_);
    for (const LaunchProcess& process : plan_.processes) {
      if (std::ranges::find(steps.starts, process.name) != steps.starts.end()) start(process);
    }
    if (steps.tell) tell("scheduler", SignalProcess{"scheduler", somebody_is_gone});
    if (steps.end) end();
    code_ = steps.code;
  }
  // Nothing is left to save, and no process sends an end.
  void abandon() {
    code_ = static_cast<int>(ExitCode::temporary);
    scheduler_killed_ = true;
  }
  void end() {
    if (plan_.grace > Duration{}) kill_at_ = steady_now() + plan_.grace;
    for (const LaunchProcess& it : plan_.processes) {
      if (it.role == Role::scheduler || !plan_.leads()) tell(it.name, SignalProcess{it.name, SIGTERM});
    }
  }
  void start(const LaunchProcess& process) {
    const bool again = running_.contains(process.name);
    if (again) restarted_.insert(process.name);
    events_before_[process.name] = size_of_events();
    running_[process.name] = true;
    std::vector<std::string> arguments = process.arguments;
    if (process.role == Role::scheduler) scheduler_killed_ = false;
    if (process.role == Role::scheduler && again && std::ranges::find(arguments, recover) == arguments.end())
      arguments.emplace_back(recover);
    tell(process.name, StartProcess{process.name, std::move(arguments), process.input, process.program,
                                    process.environment, process.sharing, process.cores, process.keys});
  }
  [[nodiscard]] bool is_script(const std::string& process) const {
    return std::ranges::any_of(plan_.processes,
                               [&](const LaunchProcess& it) { return it.name == process && it.is_script(); });
  }
  // Sends a message to the host of a process.
  void tell(const std::string& process, const ToHost& message) {
    for (const LaunchProcess& it : plan_.processes) {
      if (it.name != process) continue;
      for (const Place& place : places_) {
        if (place.name == it.host && !place.lost) place.host->tell(message);
      }
    }
  }
  [[nodiscard]] std::uintmax_t size_of_events() const {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(run_.events(), error);
    return error ? 0 : size;
  }
  // Whether a script has joined the job since its last start; std::nullopt if another machine has the record.
  [[nodiscard]] std::optional<bool> has_joined(const std::string& name) const {
    std::error_code ignored;
    if ((!plan_.here || !plan_.leads()) && !std::filesystem::exists(run_.events(), ignored))
      return std::nullopt;
    const std::string events = read_text(run_.events());
    const auto is_there = [&](const std::string& note) {
      return events.find("\"worker '" + name + note, events_before_.at(name)) != std::string::npos;
    };
    return is_there("' joined") || is_there("/");  // threads of a process are named PROCESS/NUMBER
  }
  [[nodiscard]] std::string program_of(const std::string& name) const {
    return std::ranges::find(plan_.processes, name, &LaunchProcess::name)->program;
  }
  // The scripts that run, without those in `left_out`.
  [[nodiscard]] std::size_t scripts_running(const std::set<std::string>& left_out = {}) const {
    return static_cast<std::size_t>(std::ranges::count_if(plan_.processes, [&](const LaunchProcess& it) {
      const auto found = running_.find(it.name);
      return it.is_script() && found != running_.end() && found->second && !left_out.contains(it.name);
    }));
  }
  // After a successful training (`patient`) a script may have more to do, such as saving the model, or
  // another job. One that was restarted and has not joined is too late for this job.
  void wait_for_scripts(const std::function<bool()>& interrupted, bool patient) {
    std::set<std::string> late;
    for (const std::string& name : restarted_) {
      const std::optional<bool> joined = has_joined(name);
      if (!is_script(name) || joined == true) continue;
      late.insert(name);
      if (joined == false && running_[name]) tell(name, SignalProcess{name, SIGTERM});
    }
    const auto over = [&] {
      if (patient) further_.look(scripts_running(late));
      return scripts_running(late) == 0 || further_.code() != 0;
    };
    const auto no_other_job = [&] {
      further_.look(0);
      return !further_.running();
    };
    wait_until([&] { return over() || (patient && interrupted()); }, patient ? for_ever : last_wait);
    if (over()) wait_until(no_other_job, farewell);
    further_.stop();
    wait_until(no_other_job, last_wait);
    if (*code_ == static_cast<int>(ExitCode::ok)) code_ = further_.code();
    wait_until([&] { return scripts_running() == 0 || interrupted(); }, over() ? farewell : last_wait);
    for (const LaunchProcess& it : plan_.processes) {
      if (it.is_script() && running_[it.name]) tell(it.name, SignalProcess{it.name, SIGTERM});
    }
  }
  // A scheduler that exits normally has notified the others. Processes that remain after that, or that were
  // not notified because the scheduler was killed, are killed. If only the scheduler's host is lost, the
  // others get SIGTERM, since a checkpoint may still be in progress.
  void leave() {
    const auto all_ended = [&] {
      return std::ranges::none_of(running_, [](const auto& it) { return it.second; });
    };
    if (!scheduler_killed_) wait_until(all_ended, farewell);
    for (const auto& [name, runs] : running_) {
      if (runs) tell(name, SignalProcess{name, scheduler_lost_ ? SIGTERM : SIGKILL});
    }
    wait_until(all_ended, farewell);
    for (const Place& place : places_) place.host->leave();
    wait_until([&] { return std::ranges::all_of(places_, [](const Place& it) { return it.host->over(); }); },
               last_wait);
  }

  void wait_until(const std::function<bool()>& is_so, Duration timeout) {
    for (const Time end = steady_now() + timeout; !is_so() && steady_now() < end;) {
      std::this_thread::sleep_for(tick);
      look_after();
    }
  }

  const LaunchPlan& plan_;
  const RunDirectory& run_;
  const bool quiet_;
  const bool clears_line_;  // before each output, since the scheduler may show progress on the same terminal
  Supervision supervision_;
  std::map<std::string, bool> running_;  // processes
  std::set<std::string> restarted_;
  std::map<std::string, std::uintmax_t> events_before_;  // length of the record of events at its last start
  std::string hint_;                                     // about a module that a script's Python lacks
  bool hinted_ = false;
  std::optional<int> code_;
  std::optional<Time> kill_at_;  // the user's request to end has not been fulfilled until then
  // If either is set, the scheduler may not have notified the others of the end.
  bool scheduler_killed_ = false, scheduler_lost_ = false;
  FurtherJobs further_;
  std::vector<Place> places_;  // destroyed first
};
}  // namespace

int run_cluster(const LaunchPlan& plan, const RunDirectory& run, int lock, bool quiet,
                std::function<std::string()> way_back, const Requests& requests) {
  return Cluster(plan, run, lock, quiet, std::move(way_back)).run(requests);
}

}  // namespace steelyard
