#include "app/member/member.h"

#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <thread>

#include "app/launch/local_cluster.h"
#include "app/launch/user_script.h"
#include "app/member/left_run.h"
#include "app/processes/run_journal.h"
#include "app/processes/signals.h"
#include "app/report/terminal_writer.h"
#include "core/error.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr Duration tick = std::chrono::milliseconds(100);
constexpr Duration between_looks = std::chrono::seconds(1);  // at the meeting, on a disk that may be remote
constexpr Duration for_the_record = std::chrono::seconds(5);

void say(const Task& task, const std::string& text) {
  standard_error().line("steelyard: task " + std::to_string(task.rank) + ": " + text);
}

int code_for_engines(int code) {
  return code == static_cast<int>(ExitCode::unreachable) ? static_cast<int>(ExitCode::temporary) : code;
}

class Member {
 public:
  explicit Member(const MemberOptions& options)
      : options_(options),
        task_(task_of(options.numbers, [](const char* name) { return std::getenv(name); })),
        meeting_({options.meet, options.keys, options.address, options.launch.insecure}),
        job_(job_of_tasks(options, task_)),
        roles_(roles_of(task_, job_.servers, options.roles)),
        run_(RunDirectory::share(options.launch.results.directory)),
        parent_(getppid()),
        signals_([this](int) { told_ = true; },
                 {"Ctrl-C again exits immediately", [this] { return run_.way_back(); }}, {},
                 [this] { save_ = true; }) {}

  int run() {
    if (ended_with(run_) == static_cast<int>(ExitCode::ok)) {
      say(task_, "the job in " + run_.path() +
                     " has finished: to train again, give --run-dir another name; to train on, see "
                     "`steelyard train --resume`");
      return static_cast<int>(ExitCode::ok);
    }
    return roles_.scheduler ? lead() : follow();
  }

 private:
  [[nodiscard]] bool ending() const { return told_ || getppid() != parent_; }
  [[nodiscard]] bool waits(const std::function<bool()>& is_so) const;

  int lead();
  int lead_from(LeftRun left, const RunLock& lock);
  std::unique_ptr<RunLock> locked() const;
  int follow();
  int run_plan(const MemberOptions& options, const Meeting::Place& place, bool recover, int lock,
               const std::function<bool()>& moved);
  [[nodiscard]] int code_of_job(int code) const;

  const MemberOptions& options_;
  const Task task_;
  const Meeting meeting_;
  const JobOfTasks job_;
  const TaskRoles roles_;
  const RunDirectory run_;
  const pid_t parent_;
  std::atomic<bool> told_ = false, save_ = false;
  const SignalWatch signals_;  // last: its thread uses the flags
};

// Returns whether it is so within --wait seconds, and before this task must end.
bool Member::waits(const std::function<bool()>& is_so) const {
  for (const Time end = steady_now() + from_seconds(options_.wait); !is_so();
       std::this_thread::sleep_for(tick)) {
    if (ending() || steady_now() > end) return false;
  }
  return true;
}

// ---- the task of the scheduler

// The processes of a killed task may still save.
std::unique_ptr<RunLock> Member::locked() const {
  std::unique_ptr<RunLock> lock;
  std::string why;
  const bool got = waits([&] {
    try {
      lock = std::make_unique<RunLock>(run_.path());
    } catch (const Failure& failure) {
      why = failure.what();
    }
    return lock != nullptr;
  });
  if (!got) throw Failure(ExitCode::temporary, why.empty() ? "ended before the job began" : why);
  return lock;
}

int Member::lead() {
  const std::unique_ptr<RunLock> lock = locked();
  // A server of this task was lost with the scheduler.
  const bool with_servers = !has_shards(options_, task_, job_) || job_.job.job.replicas > 0;
  // The keys are those of the last start.
  const auto met = meeting_.find();
  const LeftRun left = left_in(run_, met ? met->keys : options_.keys, with_servers);
  const int code = lead_from(left, *lock);
  const bool in_vain = left.again == Again::recover && code == static_cast<int>(ExitCode::unreachable);
  if (!in_vain || ending()) return code;
  say(task_, "the servers were lost with the scheduler: starting again from the last checkpoint");
  return lead_from(left_in(run_, "", false), *lock);
}

int Member::lead_from(LeftRun left, const RunLock& lock) {
  MemberOptions options = options_;
  ResultOptions& results = options.launch.results;
  results.directory = fs::absolute(run_.path()).string();
  results.ready = true;
  results.lock = lock.descriptor();
  results.resume = left.again == Again::resume;
  if (results.resume) results.resume_from.clear();
  const bool recover = left.again == Again::recover;
  std::error_code ignored;
  fs::remove(run_.result(), ignored);
  if (!recover) {
    fs::remove(run_.journal(), ignored);
    if (!options.launch.script || !fs::exists(run_.job())) write_text(run_.job(), job_.job.resolved);
  }
  const Meeting::Place place = meeting_.open(left.port);
  const int code = run_plan(options, place, recover, lock.descriptor(), {});
  if (ended_with(run_)) meeting_.close();
  return code;
}

// ---- other tasks

int Member::follow() {
  while (true) {
    std::optional<Meeting::Place> place;
    say(task_, "looking for the job at " + meeting_.name());
    if (!waits([&] { return (place = meeting_.find()).has_value(); })) {
      if (ending()) return static_cast<int>(ExitCode::temporary);
      throw Failure(ExitCode::temporary, "task 0 has not announced the job at " + meeting_.name() + " for " +
                                             std::to_string(static_cast<int>(options_.wait)) +
                                             " s: start it, or give all tasks the same --meet");
    }
    Time next = steady_now();
    const auto moved = [&] {
      if (steady_now() < next) return false;
      next = steady_now() + between_looks;
      const auto now = meeting_.find();
      return now && *now != *place;
    };
    bool elsewhere = false;
    const int code = run_plan(options_, *place, false, -1, [&] { return elsewhere = elsewhere || moved(); });
    if (!elsewhere || ending()) return code_of_job(code);
    say(task_, "the job was started again at " + meeting_.name() + ": joining it there");
  }
}

// A script may exit with 0 even if the job was stopped. The record, if it is shared, tells.
int Member::code_of_job(int code) const {
  if (code != 0 || !options_.launch.script || !fs::exists(run_.job())) return code;
  for (const Time end = steady_now() + for_the_record; steady_now() < end;
       std::this_thread::sleep_for(tick)) {
    if (const auto ended = ended_with(run_)) return *ended;
  }
  return code;
}

// ---- both

int Member::run_plan(const MemberOptions& options, const Meeting::Place& place, bool recover, int lock,
                     const std::function<bool()>& moved) {
  LaunchPlan plan = plan_of_task(options, task_, job_, place, meeting_.listen());
  if (options.launch.script) plan.not_joined = remedy_for_not_joining(*options.launch.script);
  if (!place.keys.empty()) give_keys(plan, place.keys);
  for (LaunchProcess& process : plan.processes) {
    if (recover && process.role == Role::scheduler) process.arguments.emplace_back("--recover");
  }
  return run_cluster(plan, run_, lock, options.launch.quiet, [this] { return run_.way_back(); },
                     {[this] { return ending(); }, [this] { return save_.exchange(false); }, moved});
}

}  // namespace

int run_member(const MemberOptions& options) try {
  if (options.launch.script) require_script(*options.launch.script);
  return code_for_engines(Member(options).run());
} catch (const Failure& failure) {
  if (failure.code() != ExitCode::unreachable) throw;
  throw Failure(ExitCode::temporary, failure.what());
}

}  // namespace steelyard
