#include "cli/launch/watch.h"

#include <sys/wait.h>

#include <algorithm>

#include "cli/children.h"
#include "core/check.h"

namespace steelyard {
namespace {

using Kind = LaunchProcess::Kind;

constexpr Duration doubt = std::chrono::seconds(2);  // whether a process failed, or the job did
constexpr unsigned most_restarts = 3;                // of one process

std::string on(const LaunchProcess& process) {
  return (process.kind == Kind::scheduler ? "the scheduler" : "process '" + process.name + "'") +
         " on host '" + process.host + "'";
}

}  // namespace

LaunchWatch::LaunchWatch(const LaunchPlan& plan) : plan_(plan) {}

const LaunchProcess& LaunchWatch::process(const std::string& name) const {
  const auto found = std::ranges::find_if(plan_.processes, [&](const auto& it) { return it.name == name; });
  CHECK(found != plan_.processes.end(), "a process that is not in the plan");
  return *found;
}

void LaunchWatch::host_ready(const std::string& host) { ready_.insert(host); }

LaunchSteps LaunchWatch::process_ended(Time now, const std::string& name, int status,
                                       const std::string& last_words) {
  LaunchSteps steps;
  const LaunchProcess& it = process(name);
  if (it.kind == Kind::scheduler) {
    steps.code = code_ != 0 ? code_ : WEXITSTATUS(status);
    if (!WIFEXITED(status)) {
      steps.says.push_back(on(it) + " " + describe_status(status) +
                           "; --run-dir and --resume go on from the last checkpoint, if one was written");
      steps.code = code_ != 0 ? code_ : static_cast<int>(ExitCode::unreachable);
    }
    return steps;
  }
  if (!WIFEXITED(status)) return failed(name, status, last_words);
  if (WEXITSTATUS(status) != 0) doubts_.push_back({name, last_words, status, now});
  return steps;
}

LaunchSteps LaunchWatch::wake(Time now) {
  if (doubts_.empty() || now - doubts_.front().since <= doubt) return {};
  const Doubt it = doubts_.front();
  doubts_.erase(doubts_.begin());
  return failed(it.name, it.status, it.words);
}

LaunchSteps LaunchWatch::failed(const std::string& name, int status, const std::string& words) {
  LaunchSteps steps;
  if (ending_) return steps;
  const LaunchProcess& it = process(name);
  steps.says.push_back(on(it) + " " + describe_status(status) + (words.empty() ? "" : "\n" + words));
  if (WIFEXITED(status)) {
    // It has said why, and would again. One that was told to leave is no failure.
    const int code = WEXITSTATUS(status);
    return code == static_cast<int>(ExitCode::temporary) ? steps : give_up(std::move(steps), code);
  }
  if (++restarts_[name] > most_restarts) return give_up(std::move(steps), static_cast<int>(ExitCode::failed));
  steps.says.push_back("starting '" + name + "' again");
  steps.starts.push_back(name);
  return steps;
}

LaunchSteps LaunchWatch::host_lost(const std::string& host, const Failure& why) {
  LaunchSteps steps;
  lost_.insert(host);
  const bool was_ready = ready_.erase(host) > 0;
  if (!was_ready || !ending_) steps.says.emplace_back(why.what());
  const auto runs_here = [&](const LaunchProcess& it) { return it.host == host; };
  const bool scheduler = std::ranges::any_of(
      plan_.processes, [&](const auto& it) { return runs_here(it) && it.kind == Kind::scheduler; });
  if (!was_ready) return give_up(std::move(steps), static_cast<int>(why.code()));
  if (scheduler) {
    if (code_ == 0) code_ = static_cast<int>(ExitCode::unreachable);
    steps.code = code_;
    return steps;
  }
  const bool workers = std::ranges::any_of(
      plan_.processes, [&](const auto& it) { return it.kind == Kind::worker && !lost_.contains(it.host); });
  if (!workers && !ending_) {
    steps.says.emplace_back("no host with a worker is left");
    return give_up(std::move(steps), static_cast<int>(ExitCode::unreachable));
  }
  return steps;
}

LaunchSteps LaunchWatch::interrupted() {
  if (ending_) return {};
  return give_up({}, 0);
}

// Nothing has to be ended where no scheduler was started.
LaunchSteps LaunchWatch::give_up(LaunchSteps steps, int code) {
  if (!ending_ && code != 0) steps.says.emplace_back("ending the job");
  if (!ending_) code_ = code;
  ending_ = true;
  const auto scheduler =
      std::ranges::find_if(plan_.processes, [](const auto& it) { return it.kind == Kind::scheduler; });
  if (ready_.contains(scheduler->host)) {
    steps.end = true;
  } else {
    steps.code = code_ != 0 ? code_ : static_cast<int>(ExitCode::temporary);
  }
  return steps;
}

}  // namespace steelyard
