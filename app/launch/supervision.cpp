#include "app/launch/supervision.h"

#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "app/launch/children.h"
#include "core/check.h"
#include "core/error.h"

namespace steelyard {
namespace {

constexpr int most_starts = 3;  // available at once
constexpr Duration between_starts = std::chrono::seconds(5);
constexpr Duration doubt = std::chrono::seconds(2);  // until it is clear whether a process failed, or the job
// A process that ran this long resets its count of kills, or of lost connections.
constexpr Duration settled = std::chrono::seconds(10), settled_in_sight = std::chrono::minutes(5);
constexpr Duration settled_scheduler = std::chrono::seconds(3);  // it loads neither data nor a model
constexpr unsigned most_killed = 12, most_unseen = 3;  // in a row; a lost connection takes a minute or more
constexpr Duration rare = std::chrono::minutes(1);     // between the starts of a process not counted on
constexpr Duration between_words = std::chrono::seconds(1);

bool exited_with(int status, ExitCode code) {
  return WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(code);
}

}  // namespace

Time Starts::next() const { return full_ + -(most_starts - 1) * between_starts; }

void Starts::take(Time now) { full_ = std::max(full_, now) + between_starts; }

void Steps::add(Steps more) {
  std::ranges::move(more.says, std::back_inserter(says));
  std::ranges::move(more.starts, std::back_inserter(starts));
  tell |= more.tell;
  end |= more.end;
  if (!code) code = more.code;
}

Supervision::Supervision(const LaunchPlan& plan, std::function<std::string()> way_back)
    : plan_(plan), way_back_(std::move(way_back)), leads_(plan.leads()) {
  for (const LaunchProcess& it : plan.processes) processes_.push_back({.it = &it});
}

// In messages: "process 'ada' on host 'mouse'".
std::string Supervision::called(const LaunchProcess& process) const {
  const std::string what =
      process.role == Role::scheduler ? "the scheduler" : "process '" + process.name + "'";
  return plan_.here ? what : what + " on host '" + process.host + "'";
}

bool Supervision::host_ready(const std::string& host) {
  return ready_.insert(host).second && started() && !before_start_;
}

void Supervision::end_before_start(Steps& steps) const {
  std::set<std::string> known = ready_;
  known.insert(unreachable_.begin(), unreachable_.end());
  if (before_start_ && known.size() == plan_.hosts.size()) steps.code = before_start_;
}

Steps Supervision::host_lost(const std::string& host, const Failure& why) {
  Steps steps;
  if (!ending_ || !started()) steps.says.emplace_back(why.what());
  if (!started()) {
    unreachable_.insert(host);
    if (!before_start_) before_start_ = static_cast<int>(why.code());
    end_before_start(steps);
    return steps;
  }
  for (Watched& process : processes_) {
    if (process.it->host != host) continue;
    if (process.it->role == Role::scheduler) steps.code = static_cast<int>(ExitCode::unreachable);
    steps.tell |= std::exchange(process.stage, Stage::gone) != Stage::gone && !ending_;
  }
  gone_ |= steps.tell;
  return steps;
}

Steps Supervision::ended(Time now, const std::string& name, int status, const std::string& words) {
  Steps steps;
  const auto found = std::ranges::find_if(processes_, [&](const Watched& it) { return it.it->name == name; });
  CHECK(found != processes_.end(), "the plan has no such process");
  Watched& process = *found;
  if (process.it->role == Role::scheduler) {
    return WIFEXITED(status) ? job_over(process, status) : scheduler_killed(now, process, status);
  }
  last_status_ = status;
  finished_ |= exited_with(status, ExitCode::ok) && !process.it->is_script();
  process.stage = Stage::doubtful;
  process.status = status;
  process.since = now;
  process.words = words;
  return WIFEXITED(status) ? steps : failed(now, process);
}

Steps Supervision::scheduler_killed(Time now, Watched& scheduler, int status) {
  if (scheduler.began && now - *scheduler.began > settled_scheduler) scheduler.killed = 0;
  if (ending_ || ++scheduler.killed >= most_killed) return job_over(scheduler, status);
  Steps steps;
  steps.says.push_back(called(*scheduler.it) + " " + describe_status(status));
  steps.add(again(now, scheduler));
  return steps;
}

Steps Supervision::job_over(const Watched& scheduler, int status) {
  Steps steps;
  steps.code = WEXITSTATUS(status);
  if (!WIFEXITED(status)) {
    steps.says.push_back(called(*scheduler.it) + " " + describe_status(status) + "; " + way_back_());
    steps.code = static_cast<int>(ExitCode::unreachable);
    return steps;
  }
  if (ending_) return steps;
  // The first script that failed is the likely cause of the other failures, and of the job's.
  const auto first = std::ranges::find_if(processes_, [](const Watched& it) {
    return it.it->is_script() && it.stage == Stage::doubtful && !exited_with(it.status, ExitCode::ok) &&
           !it.began;
  });
  const bool late = first != processes_.end();
  if (late) steps.says.push_back(called(*first->it) + " " + describe_status(first->status) + first->words);
  // A scheduler that was notified of a lost script before it had a model exits as if the user had stopped it.
  const bool untold =
      exited_with(status, ExitCode::temporary) && std::ranges::any_of(processes_, [](const Watched& it) {
        return it.it->is_script() && it.stage == Stage::gone;
      });
  const bool before = std::ranges::any_of(processes_, [](const Watched& it) {
    return it.it->is_script() && it.stage == Stage::gone && WIFEXITED(it.status) &&
           !exited_with(it.status, ExitCode::ok) && !it.began;
  });
  if (untold || ((late || before) && steps.code == static_cast<int>(ExitCode::ok)))
    steps.code = static_cast<int>(ExitCode::failed);
  return steps;
}

bool Supervision::any_left() const {
  return std::ranges::any_of(
      processes_, [](const Watched& it) { return it.stage == Stage::running || it.stage == Stage::waiting; });
}

// For a plan without a scheduler.
Steps Supervision::task_over() const {
  Steps steps;
  if (any_left()) return steps;
  steps.code = WIFEXITED(last_status_) ? WEXITSTATUS(last_status_) : static_cast<int>(ExitCode::temporary);
  return steps;
}

Steps Supervision::interrupted() {
  Steps steps;
  steps.end = !std::exchange(ending_, true);
  if (!leads_) {
    for (Watched& it : processes_)
      if (it.stage == Stage::waiting) it.stage = Stage::gone;
  }
  const bool waits = std::ranges::any_of(processes_, [](const Watched& it) {
    return it.it->role == Role::scheduler && it.stage == Stage::waiting;
  });
  if (!started() || waits) steps.code = static_cast<int>(ExitCode::temporary);
  return steps;
}

Steps Supervision::wake(Time now) {
  Steps steps;
  if (!started() || before_start_) {
    end_before_start(steps);
    return steps;
  }
  const auto beyond_doubt = [&](const Watched& it) {
    return it.stage == Stage::doubtful && now - it.since > doubt;
  };
  // If no worker runs, all doubtful processes are reported together, without waiting for each.
  const bool all = (!worker_left(Stage::running) && std::ranges::any_of(processes_, beyond_doubt)) ||
                   (!leads_ && !any_left());
  for (Watched& process : processes_) {
    if (all ? process.stage == Stage::doubtful : beyond_doubt(process)) steps.add(failed(now, process));
    if (process.stage == Stage::waiting && now >= process.next) steps.add(start(now, process));
  }
  if (!leads_) steps.add(task_over());
  if (ending_ || finished_ || plan_.tasks > 1 || !nobody_left()) {
    told_.reset();
  } else if (!told_ || now - *told_ > between_words) {
    if (!told_) steps.says.emplace_back("ending the job: no worker runs, and none can be restarted");
    told_ = now;
    steps.tell = true;
  }
  return steps;
}

Steps Supervision::failed(Time now, Watched& process) {
  Steps steps;
  process.stage = Stage::gone;
  const int status = process.status;
  const bool untold = process.it->is_script() && !finished_ && leads_;
  if (ending_ || (exited_with(status, ExitCode::ok) && !untold)) return steps;
  steps.says.push_back(called(*process.it) + " " + describe_status(status) + process.words);
  const bool unseen = exited_with(status, ExitCode::unreachable);
  const bool refused = !leads_ && exited_with(status, ExitCode::temporary) && any_left();
  if (WIFEXITED(status) && !unseen && !refused) {
    steps.tell = gone_ = true;
    return steps;
  }
  const Duration lived = process.began ? now - *process.began : Duration{};
  if (lived > settled) process.killed = 0;
  if (lived > settled_in_sight) process.out_of_sight = 0;
  ++(unseen || refused ? process.out_of_sight : process.killed);
  steps.add(again(now, process));
  return steps;
}

Steps Supervision::again(Time now, Watched& process) {
  const std::string& name = process.it->name;
  const bool counted_on = process.killed < most_killed && process.out_of_sight < most_unseen;
  Steps steps;
  steps.tell = std::exchange(process.counted_on, counted_on) && !counted_on;
  gone_ |= steps.tell;
  if (!leads_ && !counted_on) return steps;
  process.stage = Stage::waiting;
  process.next = counted_on ? std::max(now, process.starts.next()) : now + rare;
  if (process.next <= now) {
    steps.add(start(now, process));
  } else if (counted_on) {
    const double wait = std::ceil(seconds(process.next - now));
    steps.says.push_back("starting '" + name + "' again in " + std::to_string(static_cast<int>(wait)) +
                         " s: too many restarts within a short time");
  } else {
    steps.says.push_back("starting '" + name + "' again once a minute only: too many failures in a row");
  }
  return steps;
}

// A killed process may run longer after a restart. A server with shards that have no other copy cannot
// continue; the scheduler then ends the job with a message.
Steps Supervision::start(Time now, Watched& process) {
  process.starts.take(now);
  process.stage = Stage::running;
  process.began = now;
  Steps steps;
  steps.says.push_back("starting '" + process.it->name + "' again");
  steps.starts.push_back(process.it->name);
  // Notifications sent while no scheduler ran are lost, so send one again.
  steps.tell = gone_ && process.it->role == Role::scheduler;
  return steps;
}

bool Supervision::worker_left(Stage stage) const {
  return std::ranges::any_of(processes_, [&](const Watched& it) {
    return it.it->role == Role::worker && it.stage == stage && (stage != Stage::waiting || it.counted_on);
  });
}

bool Supervision::nobody_left() const {
  return plan_.workers() > 0 && !worker_left(Stage::running) && !worker_left(Stage::doubtful) &&
         !worker_left(Stage::waiting);
}

}  // namespace steelyard
